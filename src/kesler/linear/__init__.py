"""Linear sorters: one weight vector per label, labels sorted by their scores."""

from kesler.linear.online import OnlineClassifier
from kesler.linear.svc import ConstraintSVC

__all__ = ["ConstraintSVC", "OnlineClassifier"]
