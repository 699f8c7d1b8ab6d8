"""The manifest: read back as it was written, and any flipped bit is noticed."""

from realloc.base.place import Folder
from realloc.batch.manifest import MANIFEST, Manifest, OutputFile, read_manifest

FILES = [OutputFile("1f/part-00000-aa.parquet", 3, 10, "00" * 32)]


def test_what_was_written_is_read(tmp_path):
    place, made = Folder(tmp_path), Manifest(key="k", files=FILES, figures={"rows": 3})
    place.replace(MANIFEST, made.pack())
    assert read_manifest(place) == made


def test_a_missing_one_is_none(tmp_path):
    assert read_manifest(Folder(tmp_path)) is None


def test_any_flipped_bit_is_noticed(tmp_path):
    place, made = Folder(tmp_path), Manifest(key="k", files=FILES, figures={"rows": 3})
    content = made.pack()
    for n in range(len(content)):
        place.replace(
            MANIFEST, content[:n] + bytes([content[n] ^ 1 << n % 8]) + content[n + 1 :]
        )
        assert read_manifest(place) in (None, made)
