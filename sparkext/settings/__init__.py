"""The ``spark.cqels.*`` keys by what they are about: a class of declarations each, all of which `config` has as one"""
