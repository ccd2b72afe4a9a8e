"""Linear sorters: one weight vector per label, labels sorted by their scores."""

from kesler.linear.online import OnlineClassifier
from kesler.linear.path import RegularizationPath, regularization_path
from kesler.linear.svc import ConstraintSVC
from kesler.linear.svc_cv import ConstraintSVCCV

__all__ = [
    "ConstraintSVC",
    "ConstraintSVCCV",
    "OnlineClassifier",
    "RegularizationPath",
    "regularization_path",
]
