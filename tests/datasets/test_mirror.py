"""Files in a folder: what is written is what is read, and what is wrong names the file."""

import gzip
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kesler.datasets._catalogue import Facts
from kesler.datasets._mirror import read

NUMBERS = Facts("numbers", "csv", "class", 3, 2, n_train=4, n_test=2)
MIXED = Facts("mixed", "csv", "class", 2, 2, n_train=3, nominal=(0,))
RANKS = Facts("ranks", "csv", "ranks", 1, 3, n_train=2)
SETS = Facts("sets", "svmlight", "labelsets", 4, 3, n_train=3, n_test=1)
SPARSE = Facts("sparse", "svmlight", "class", 4, 2, n_train=2, n_test=1, class_names=("no", "yes"))
IMAGES = Facts("images", "idx", "class", 4, 2, n_train=3, n_test=2)


def idx(array):
    head = np.array([0x800 + array.ndim, *array.shape], dtype=">u4")
    return head.tobytes() + array.astype(np.uint8).tobytes()


PIXELS = np.arange(5 * 4).reshape(5, 2, 2) * 13 % 256
DIGITS = np.array([0, 1, 1, 0, 1])
FILES = {
    NUMBERS: [
        b"split,a,b,c,class\ntrain,1,-2.5,1e3,x\ntrain,.5,0,1,y\ntrain,1,2,3,x\ntrain,4,5,6,y\n"
        b"test,7,8,9,x\ntest,0,0,0,y\n"
    ],
    MIXED: [b"colour,size,class\r\nred,1.5,big\r\n,2,small\r\nblue,,big\r\n"],
    RANKS: [b"x1,L1,L2,L3\n0.25,2,1,3\n-1,3,2,1"],
    SETS: [b"0,2 0:1.5 3:-2\n 1:1\n1 2:0.5\n", b"0,1,2 0:1\n"],
    SPARSE: [b"1 0:1 2:3\n0 3:2\n", b"1 1:4 # comment\n"],
    IMAGES: [idx(PIXELS[:3]), idx(DIGITS[:3]), idx(PIXELS[3:]), idx(DIGITS[3:])],
}


def write(folder, facts, contents):
    for file, content in zip(facts.files, contents, strict=True):
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(content, mtime=0))


def write_one(folder, facts, old, new, file=0):
    contents = list(FILES[facts])
    assert old in contents[file]
    contents[file] = contents[file].replace(old, new, 1)
    write(folder, facts, contents)


def refused(folder, facts, match, file=0):
    with pytest.raises(ValueError, match=match) as caught:
        read(facts, folder)
    assert str(folder / facts.files[file]) in str(caught.value)


def test_numbers(tmp_path):
    write(tmp_path, NUMBERS, FILES[NUMBERS])
    data = read(NUMBERS, tmp_path)
    assert data.data.tolist() == [
        [1, -2.5, 1000],
        [0.5, 0, 1],
        [1, 2, 3],
        [4, 5, 6],
        [7, 8, 9],
        [0, 0, 0],
    ]
    assert data.target.tolist() == ["x", "y", "x", "y", "x", "y"]
    assert data.target.dtype == "U1"
    assert data.feature_names == ["a", "b", "c"]
    assert data.train.tolist() == [0, 1, 2, 3]
    assert data.test.tolist() == [4, 5]


def test_mixed(tmp_path):
    write(tmp_path, MIXED, FILES[MIXED])
    data = read(MIXED, tmp_path)
    assert data.data[[0, 2], 0].tolist() == ["red", "blue"]
    assert data.data[:2, 1].tolist() == [1.5, 2.0]
    assert np.isnan([data.data[1, 0], data.data[2, 1]]).all()
    assert data.nominal == ["colour"]
    assert data.target_names == ["big", "small"]


def test_ranks(tmp_path):
    write(tmp_path, RANKS, FILES[RANKS])
    data = read(RANKS, tmp_path)
    assert data.data.tolist() == [[0.25], [-1]]
    assert data.target.tolist() == [[2, 1, 3], [3, 2, 1]]
    assert data.target_names == ["L1", "L2", "L3"]
    pairs = data.constraints().pairs()
    assert list(zip(pairs.over, pairs.under, strict=True)) == [(1, 0), (0, 2), (2, 1), (1, 0)]


def test_sets(tmp_path):
    write(tmp_path, SETS, FILES[SETS])
    data = read(SETS, tmp_path)
    assert data.data.toarray().tolist() == [
        [1.5, 0, 0, -2],
        [0, 1, 0, 0],
        [0, 0, 0.5, 0],
        [1, 0, 0, 0],
    ]
    assert data.target.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]]
    _, X_test, _, y_test = data.split()
    assert X_test.toarray().tolist() == [[1, 0, 0, 0]]
    assert y_test.toarray().tolist() == [[1, 1, 1]]


def test_sparse_classes(tmp_path):
    write(tmp_path, SPARSE, FILES[SPARSE])
    data = read(SPARSE, tmp_path)
    assert data.target.tolist() == ["yes", "no", "yes"]
    assert data.target_names == ["no", "yes"]
    assert data.data.toarray().tolist() == [[1, 0, 3, 0], [0, 0, 0, 2], [0, 4, 0, 0]]


def test_images(tmp_path):
    write(tmp_path, IMAGES, FILES[IMAGES])
    data = read(IMAGES, tmp_path)
    assert data.data.dtype == np.float32
    assert np.array_equal(data.data, (PIXELS.reshape(5, 4) / np.float32(255)).astype(np.float32))
    assert data.target.tolist() == ["0", "1", "1", "0", "1"]


@pytest.mark.parametrize(
    ("facts", "old", "new", "match"),
    [
        (NUMBERS, b"split,", b"part,", "must have the columns split, 3 features, class"),
        (NUMBERS, b",class", b",klass", "the last of them 'klass'"),
        (NUMBERS, b"a,b,c", b"a,b", "must have the columns"),
        (NUMBERS, b"a,b,c", b"a,b,a", "two columns of the same name"),
        (NUMBERS, b"test,0,0,0,y\n", b"", "6 rows of 5 fields.*has 5 lines"),
        (NUMBERS, b"7,8,9", b"7,8", "6 rows of 5 fields"),
        (NUMBERS, b"7,8,9,x\ntest,0,", b"7,8,x\ntest,0,0,", "no table of the kind"),
        (NUMBERS, b"7,8,9,x\ntest,0,0,0,y\n", b"7,8,9,x,,,,\n\n", "6 rows; 5 are not blank"),
        (NUMBERS, b"1e3", b"1e9999", "line 2: value inf"),
        (NUMBERS, b"1e3", b"nan", "line 2: value nan"),
        (NUMBERS, b"1e3", b"", "no table of the kind expected: could not convert string ''"),
        (NUMBERS, b"1e3", b"one", "could not convert string 'one'"),
        (NUMBERS, b"1e3", b"\xff", "not UTF-8"),
        (NUMBERS, b"train,1,2", b"test,1,2", "4 times 'train', then 2 times 'test'"),
        (NUMBERS, b"9,x", b"9,z", "must have 2 classes; it has 3: 'x', 'y', 'z'"),
        (MIXED, b"small", b"big", "must have 2 classes; it has 1"),
        (MIXED, b"small", b"", "must have 2 classes; it has 2: ''"),
        (MIXED, b"1.5", b"inf", "line 2: feature 2 is infinite"),
        (MIXED, b"1.5", b"wide", "feature 2: could not convert string"),
        (RANKS, b"2,1,3", b"2,2,3", "line 2: the ranks .2.0, 2.0, 3.0. are no order of 3 labels"),
        (RANKS, b"3,2,1", b"3,2,0", "line 3: the ranks"),
        (SETS, b"0,2 ", b"0,3 ", "label 3; labels are whole numbers from 0 to 2"),
        (SETS, b"0,2 ", b"0,1.5 ", "label 1.5"),
        (SETS, b"0,2 ", b"-1 ", "label -1"),
        (SETS, b"0,2 ", b"0,nan ", "label nan"),
        (SETS, b"0,2 ", b"0,0 ", "the same label twice"),
        (SETS, b"3:-2", b"4:-2", "no svmlight file"),
        (SETS, b"3:-2", b"-3:-2", "no svmlight file"),
        (SETS, b"3:-2", b"3=-2", "no svmlight file"),
        (SETS, b"3:-2", b"3:inf", "no finite number"),
        (SETS, b"3:-2", b"99999999999999999999:1", "no svmlight file"),
        (SETS, b"1 2:0.5\n", b"", "must have 3 examples; it has 2"),
        (SPARSE, b"1 0:1", b"2 0:1", "label 2; labels are whole numbers from 0 to 1"),
        (IMAGES, b"\x00\x00\x08\x03", b"\x00\x00\x08\x01", r"no IDX file.*shape \(3, 2, 2\)"),
        (IMAGES, b"\x00\x00\x00\x03", b"\x7f\xff\xff\xff", "no IDX file"),
        (
            IMAGES,
            PIXELS[0, 0].astype(np.uint8).tobytes(),
            b"",
            "must unpack to 28 bytes; it has 26",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, facts, old, new, match):
    write_one(tmp_path, facts, old, new)
    refused(tmp_path, facts, match)


def test_wrong_classes_of_images(tmp_path):
    write_one(tmp_path, IMAGES, b"\x00\x01\x01", b"\x00\x01\x02", file=1)
    refused(tmp_path, IMAGES, "must have 2 classes; it has 3", file=1)


@pytest.mark.parametrize("facts", FILES, ids=lambda f: f.name)
@pytest.mark.parametrize("file", [0, -1])
def test_truncated_file(tmp_path, facts, file):
    write(tmp_path, facts, FILES[facts])
    path = tmp_path / facts.files[file]
    whole = path.read_bytes()
    for size in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=path.name):
            read(facts, tmp_path)
    path.write_bytes(b"plain text")
    refused(tmp_path, facts, "is no gzip file", file)


@pytest.mark.parametrize("facts", FILES, ids=lambda f: f.name)
def test_file_that_would_fill_the_memory(tmp_path, facts):
    write(tmp_path, facts, FILES[facts])
    (tmp_path / facts.files[0]).write_bytes(gzip.compress(bytes(50_000_000)))
    refused(tmp_path, facts, "unpacks to more than")


@pytest.mark.parametrize("facts", FILES, ids=lambda f: f.name)
@given(data=st.data())
@settings(max_examples=100)
def test_random_damage_is_refused_or_harmless(tmp_path_factory, facts, data):
    folder = tmp_path_factory.getbasetemp() / f"damaged-{facts.name}"
    folder.mkdir(exist_ok=True)
    contents = list(FILES[facts])
    which = data.draw(st.integers(0, len(contents) - 1))
    raw = bytearray(contents[which])
    at = data.draw(st.integers(0, len(raw) - 1))
    piece = data.draw(
        st.one_of(
            st.binary(max_size=6), st.sampled_from([b",", b"\n", b"-1", b"1e999", b":", b"\r"])
        )
    )
    raw[at : at + data.draw(st.integers(0, 4))] = piece
    contents[which] = bytes(raw)
    write(folder, facts, contents)
    try:
        found = read(facts, folder)
    except ValueError as error:
        assert str(folder) in str(error)
    else:
        assert found.data.shape == (facts.n_rows, facts.n_features)
        assert found.target.shape[0] == facts.n_rows


@pytest.mark.parametrize("facts", FILES, ids=lambda f: f.name)
def test_damaged_gzip_is_refused_or_harmless(tmp_path, facts):
    write(tmp_path, facts, FILES[facts])
    path = tmp_path / facts.files[0]
    whole = path.read_bytes()
    chance = random.Random(0)
    for _ in range(200):
        raw = bytearray(whole)
        raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
        path.write_bytes(raw)
        try:
            read(facts, tmp_path)
        except ValueError as error:
            assert path.name in str(error)
