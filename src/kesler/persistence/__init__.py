"""Models in files that load without running code.

A file is a safetensors container: the arrays of the model, and one JSON text that says what they
belong to. Whatever reads safetensors can read the weights; `load` builds the estimator again and
believes nothing that the file says before it has been checked. Pickle and joblib work too, as for
any estimator, and may only be used on files from people you trust.
"""

from kesler.persistence._models import load, save

__all__ = ["load", "save"]
