"""What may be set, and the sentences for what may not."""

import pytest

from realloc.base.errors import ConfigError
from realloc.learn.teacher.config import KernelConfig, NetworkConfig, TeacherConfig


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"surfaces": ("kernal",)},
            r"Unknown surface 'kernal' in `surfaces` of \[teacher\]. Did you mean 'kernel'\?",
        ),
        (
            {"surfaces": ("zzz",)},
            r"Unknown surface 'zzz' in `surfaces` of \[teacher\]. Known: kernel, network, factual, "
            r"sparse\.",
        ),
        (
            {"surfaces": ()},
            r"Expected one or more different `surfaces` in \[teacher\], got \[\]",
        ),
        (
            {"surfaces": ("kernel", "kernel")},
            r"Expected one or more different `surfaces` in \[teacher\], got \['kernel', ",
        ),
        ({"members": 0}, r"Expected `members` of \[teacher\] from 1 to 100, got 0\."),
        ({"members": 101}, r"Expected `members` of \[teacher\] from 1 to 100, got 101\."),
        (
            {"members": 2.0},
            r"Expected `members` of \[teacher\] to be a whole number, got 2.0",
        ),
    ],
)
def test_a_teacher_out_of_range_is_refused_with_a_sentence(change, sentence):
    with pytest.raises(ConfigError, match=sentence):
        TeacherConfig(**change)


@pytest.mark.parametrize(
    "change",
    [{"inducing": 9}, {"rows": 9}, {"steps": 0}, {"later_steps": 0}, {"rate": 0.0}],
)
def test_a_kernel_out_of_range_is_refused_with_a_sentence(change):
    with pytest.raises(
        ConfigError,
        match=r"Expected `inducing` and `rows` of \[kernel\] of at least 10, `steps` and "
        "`later_steps` of at least 1 and `rate`",
    ):
        KernelConfig(**change)


def test_a_kernel_of_the_wrong_type_is_refused_with_its_name():
    with pytest.raises(
        ConfigError,
        match=r"Expected `steps` of \[kernel\] to be a whole number, got 'many' \(text\)",
    ):
        KernelConfig(steps="many")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"residual": -0.1},
            r"Expected `factual`, `residual` and `gradient` of \[network\] of at least 0",
        ),
        ({"factual": 0.0, "residual": 0.0, "gradient": 0.0}, "one of them above 0"),
        ({"width": 0}, r"Expected `width` of \[network\] of at least 1, got 0"),
        ({"epochs": 0}, "Expected epochs, batch, patience and most_steps of at least 1"),
        ({"centred": 1}, r"Expected `centred` of \[network\] to be true or false, got 1"),
    ],
)
def test_a_network_out_of_range_is_refused_with_a_sentence(change, sentence):
    with pytest.raises(ConfigError, match=sentence):
        NetworkConfig(**change)
