"""The data sets that `kesler.datasets.load` knows, and the facts by which a copy is recognised.

They are those of the papers: Har-Peled, Roth and Zimak 2002 (Table 2), El-Yaniv, Pechyony and
Yom-Tov 2008 (Table 2), the semi-synthetic label rankings of Cheng, Hühn and Hüllermeier 2009, and
the multi-label sets with the splits of Mulan. This module holds facts only; it reads nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

TargetKind: TypeAlias = Literal["class", "labelsets", "ranks"]


@dataclass(frozen=True)
class Facts:
    """What a copy of a data set must look like.

    Attributes
    ----------
    n_train, n_test : int
        The split of the papers, training rows first; ``n_test`` is 0 where there is none.
    n_labels : int
        Classes that occur, or labels.
    nominal : tuple of int
        Columns that are categories.
    openml : int, optional
        Number of the data set on OpenML.
    openml_extra : tuple of str
        Columns that the copy on OpenML has besides the features.
    row_order : int, optional
        `fingerprint` of a copy whose rows stand in the order of the paper's split. In another
        order a split by row number would mean nothing.
    class_names : tuple of str
        Names of the classes where the files only number them.
    """

    name: str
    layout: Literal["csv", "svmlight", "idx"]
    target: TargetKind
    n_features: int
    n_labels: int
    n_train: int
    n_test: int = 0
    nominal: tuple[int, ...] = ()
    openml: int | None = None
    openml_extra: tuple[str, ...] = ()
    row_order: int | None = None
    class_names: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        return self.n_train + self.n_test

    @property
    def files(self) -> tuple[str, ...]:
        """The files of a local copy, relative to its folder."""
        if self.layout == "csv":
            return (f"{self.name}.csv.gz",)
        if self.layout == "svmlight":
            return (f"{self.name}.train.svm.gz", f"{self.name}.test.svm.gz")
        return tuple(
            f"{self.name}/{part}-{what}-ubyte.gz"
            for part in ("train", "t10k")
            for what in ("images-idx3", "labels-idx1")
        )


def _table(
    name: str,
    n_features: int,
    n_labels: int,
    n_train: int,
    n_test: int = 0,
    *,
    openml: int | None = None,
    n_nominal: int = 0,
    openml_extra: tuple[str, ...] = (),
    row_order: int | None = None,
) -> Facts:
    return Facts(
        name,
        "csv",
        "class",
        n_features,
        n_labels,
        n_train,
        n_test,
        # Where a set has categories, they are its first columns.
        nominal=tuple(range(n_nominal)),
        openml=openml,
        openml_extra=openml_extra,
        row_order=row_order,
    )


def _ranking(name: str, n_features: int, n_labels: int, n_rows: int) -> Facts:
    return Facts(f"{name}-ranking", "csv", "ranks", n_features, n_labels, n_rows)


def _labelsets(name: str, n_features: int, n_labels: int, n_train: int, n_test: int) -> Facts:
    return Facts(name, "svmlight", "labelsets", n_features, n_labels, n_train, n_test)


_NEWSGROUPS = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
)

CATALOGUE: dict[str, Facts] = {
    facts.name: facts
    for facts in (
        _table("glass", 9, 6, 214, openml=41),
        _table(
            "vowel",
            10,
            11,
            528,
            462,
            openml=307,
            openml_extra=("Train_or_Test", "Speaker_Number", "Sex"),
            row_order=0x81B96209,
        ),
        _table("soybean", 35, 19, 307, 376, openml=42, n_nominal=35, row_order=0x86D2B884),
        _table("audiology", 69, 24, 200, 26, openml=7, n_nominal=69, row_order=0xBA831861),
        _table("isolet", 617, 26, 6238, 1559, openml=300, row_order=0xE1927587),
        _table("letter", 16, 26, 16000, 4000, openml=6, row_order=0xEE86F486),
        _table("car", 6, 4, 1728, openml=40975, n_nominal=6),
        _table("page-blocks", 10, 5, 5473, openml=30),
        _table("iris", 4, 3, 150, openml=61),
        _table("wine", 13, 3, 178, openml=187),
        _table("vehicle", 18, 4, 846, openml=54),
        _table("balance-scale", 4, 3, 625, openml=11),
        _table("lenses", 4, 3, 24, n_nominal=4),
        _table("new-thyroid", 5, 3, 215, openml=40682),
        _table("postoperative", 8, 3, 90, openml=34, n_nominal=7),
        _table("tae", 5, 3, 151, openml=48, n_nominal=4),
        _ranking("authorship", 70, 4, 841),
        _ranking("glass", 9, 6, 214),
        _ranking("iris", 4, 3, 150),
        _ranking("vehicle", 18, 4, 846),
        _ranking("vowel", 10, 11, 528),
        _ranking("wine", 13, 3, 178),
        _ranking("pendigits", 16, 10, 10992),
        _labelsets("yeast", 103, 14, 1500, 917),
        _labelsets("scene", 294, 6, 1211, 1196),
        _labelsets("emotions", 72, 6, 391, 202),
        _labelsets("bibtex", 1836, 159, 4880, 2515),
        Facts("20news", "svmlight", "class", 56126, 20, 11314, 7532, class_names=_NEWSGROUPS),
        Facts("mnist", "idx", "class", 784, 10, 60000, 10000, openml=554, row_order=0xA13DDD6B),
    )
}


def names() -> list[str]:
    """The names that `load` takes, in alphabetical order.

    Examples
    --------
    >>> from kesler.datasets import names
    >>> [name for name in names() if name.startswith("vowel")]
    ['vowel', 'vowel-ranking']
    """
    return sorted(CATALOGUE)
