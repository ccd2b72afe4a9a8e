"""Linear sorters: one weight vector per label, labels sorted by their scores."""

from kesler.linear.online import OnlineClassifier

__all__ = ["OnlineClassifier"]
