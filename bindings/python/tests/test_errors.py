# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each status has a class, and the classes are those that the compiled half knows."""

from __future__ import annotations

import pickle

import pytest
import saker
from saker import _saker, errors


def test_every_class_is_there_with_its_parent() -> None:
    known = dict(_saker.error_classes())
    for name, parent in known.items():
        error = getattr(errors, name)
        assert issubclass(error, getattr(errors, parent)) and error.__doc__
        assert getattr(saker, name) is error
    assert {name for name in dir(errors) if name.endswith("Error")} == set(known)


def test_the_page_at_the_top_has_all_of_them() -> None:
    assert errors.__doc__ is not None
    missing = [name for name, _ in _saker.error_classes() if name not in errors.__doc__]
    assert not missing


def test_errors_are_pickled() -> None:
    error = errors.ConflictError("text", b"key", 7)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is errors.ConflictError and (str(again), again.key, again.status) == ("text", b"key", 7)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("nothing", errors.UrlError),
        ("mem:?sise=1", errors.UrlError),
        ("mem:?engine=lsm&cache_bytes=1", errors.UrlError),
        ("mem:?profile=none", errors.ProfileError),
        ("mem:?size=1KiB", errors.PlanError),
        ("file:no/such.img", errors.ImageError),
        ("mem:?size=64MiB&profile=tiny&nsid=3", errors.NoNamespaceError),
        ("/dev/ng9n9?reconnect=0", errors.LinuxError),
    ],
)
def test_what_cannot_be_opened(url: str, error: type[saker.SakerError]) -> None:
    with pytest.raises(errors.OpenError) as refused:
        saker.open(url)
    assert type(refused.value) is error, repr(refused.value)
    assert "\n" not in str(refused.value)


def test_create_refuses(tmp_path: object) -> None:
    path = f"{tmp_path}/disk.img"
    for arguments in ({"size": "many"}, {"size": "64MiB", "engine": "none"}):
        with pytest.raises(errors.ArgumentError):
            saker.create(path, **arguments)  # type: ignore[arg-type]
    saker.create(path, "64MiB", profile="tiny")
    with pytest.raises(errors.ImageError):
        saker.create(path, "64MiB", profile="tiny")
