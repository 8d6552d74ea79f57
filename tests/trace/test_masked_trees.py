"""Masked arrays as trees: data and mask are leaves."""

import numpy as np

import funcgrad as fg
from funcgrad.trace.masked_trees import flatten_masked, is_masked
from funcgrad.trace.pytree import flatten, flatten_numbers


def test_data_and_mask_are_leaves():
    array = np.ma.array([1.0, 2.0], mask=[0, 1], fill_value=-1.0)
    tree = flatten({"a": array})
    assert tree.paths == ["_a_data", "_a_mask"]
    again = tree.rebuild(tree.leaves)["a"]
    assert again.fill_value == -1.0
    assert str(again) == str(array)


def test_the_mask_is_no_number():
    tree = flatten_numbers(np.ma.array([1.0, 2.0], mask=[0, 1]))
    assert len(tree.leaves) == 1
    assert str(tree.rebuild([np.array([3.0, 4.0])])) == "[3.0 --]"


def test_an_array_without_a_mask_stays_one_unless_entries_are_masked():
    node = flatten_masked(np.ma.array([1.0, 2.0]))
    assert node.put([np.zeros(2), np.zeros(2, bool)]).mask is np.ma.nomask
    assert node.put([np.zeros(2), np.array([True, False])]).mask.tolist() == [True, False]


def test_kinds():
    assert is_masked(np.ma.MaskedArray)
    assert is_masked(type(np.ma.masked))
    assert not is_masked(np.ndarray)
    assert fg.jit(lambda x: np.ma.masked)(1.0) is np.ma.masked
