"""What can go wrong while a plan is chosen: every error of this package is an `AdaptiveError`."""


class AdaptiveError(Exception):
    """Base of all errors raised by `adaptive`."""


class QueryGraphError(AdaptiveError):
    """A query graph contradicts itself: a name twice, an unknown variable, no relation at all."""


class StatisticsError(AdaptiveError):
    """A statistic is missing, negative or not a number; the message names relation and variable."""


class CostModelError(AdaptiveError):
    """A constant of a cost model is negative or not a number; the message names it."""


class PlanError(AdaptiveError):
    """A plan does not fit the query graph that it is said to answer."""


class SearchError(AdaptiveError):
    """The search was asked for something impossible, such as a budget below zero."""
