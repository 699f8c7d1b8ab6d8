import pytest

from realloc.base.errors import StoreError
from realloc.storage.store.place import check_local
from tests.storage.store.light import LightStore, grown, snapshot

MOUNTS = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /mnt rw shared:2 - nfs4 server:/export rw
31 30 254:1 / /mnt/local rw shared:3 - xfs /dev/vdb rw
32 22 0:41 / /media/a\040b rw - cifs //server/share rw
33 22 0:42 / /work rw - fuse.sshfs host: rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/mnt/store", "nfs4"),
        ("/media/a b/store", "cifs"),
        ("/work/x/y", "fuse.sshfs"),
        ("/mnt", "nfs4"),
    ],
)
def test_network_file_systems_are_refused_by_name(tmp_path, path, kind):
    with pytest.raises(
        StoreError, match=rf"network file system \({kind}\).*--allow-network"
    ):
        check_local(tmp_path / path, MOUNTS)


@pytest.mark.parametrize(
    "path", ["/home/store", "/mnt/local/store", "/mntx/store", "/worked/store"]
)
def test_local_disks_are_not(tmp_path, path):
    check_local(tmp_path / path, MOUNTS)


def test_no_list_of_mounts_refuses_nothing(tmp_path):
    check_local(tmp_path, "")


@pytest.mark.parametrize("name", ["tmp", "versions", "quarantine"])
def test_a_folder_with_names_of_ours_that_are_somebody_elses_is_left_alone(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "mine.txt").write_text("mine")
    with pytest.raises(
        StoreError, match=r"mine.txt' is there and no FORMAT. Choose another folder"
    ):
        LightStore(tmp_path).step()
    assert (tmp_path / name / "mine.txt").read_text() == "mine"
    assert not (tmp_path / "FORMAT").exists()


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "store").write_text("mine")
    with pytest.raises(StoreError, match="store' is a file"):
        LightStore(tmp_path / "store").step()


def test_a_newer_format_asks_for_an_upgrade(tmp_path):
    store = grown(tmp_path / "store", 1)
    (store.path / "FORMAT").write_text("3\n")
    for use in (store.current, store.step, store.rollback, store.history):
        with pytest.raises(
            StoreError, match=r"Expected format 2 in .*FORMAT', got '3'.*upgrade"
        ):
            use()


@pytest.mark.parametrize("versions", [True, False])
def test_a_store_of_an_earlier_format_says_to_fit_again_and_stays_as_it_is(
    tmp_path, versions
):
    store = LightStore(tmp_path / "store")
    if versions:
        store.step()
        (store.path / "FORMAT").write_text("1\n")
    else:
        (store.path / "model").mkdir(parents=True)
    before = snapshot(store.path)
    for use in (store.current, store.load, store.step, store.rollback, store.history):
        with pytest.raises(
            StoreError, match="written by an earlier realloc.*: fit again into"
        ):
            use()
    assert snapshot(store.path) == before


def test_empty_folders_that_were_lost_are_made_again(tmp_path):
    store = grown(tmp_path / "store", 1)
    for name in ("tmp", "quarantine"):
        (store.path / name).rmdir()
    assert store.step().number == 2
