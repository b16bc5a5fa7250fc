"""The commands about a server: one that runs it, one that asks how it is"""
