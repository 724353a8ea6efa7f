"""Codebooks that are read: the three kinds, files that are none, and files that would do harm."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from incrowd.core.errors import ParameterError, TableError
from incrowd.release.codebooks import KINDS, kind_for, read_codebook
from incrowd.release.codebooks.base import Column, Description, Field

REDCAP = """\ufeff"Variable / Field Name","Form Name","Field Type","Field Label","Choices, Calculations, OR Slider Labels","Text Validation Type OR Show Slider Number","Identifier?"
record,demo,text,"Record ID",,,
fullname,demo,text,"Name of the patient",,,y
reach,demo,text,"How to reach you",,email,
postal,demo,text,"<b>Postal</b> code",,zipcode,
scan,demo,file,"Letter",,,
race,demo,checkbox,"Race","1, White | -2, Asian, other |",,
"notes
of two lines",demo,notes,"Notes",,,
"""
DDI = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5"><dataDscr>
<var ID="V1" name="v12"><labl>Age of
 respondent</labl><invalrng><item UNITS="INT" VALUE="99"/></invalrng>
  <catgry missing="Y"><catValu>98</catValu><labl>refused</labl></catgry>
  <catgry><catValu>1</catValu><labl>young</labl></catgry></var>
<var ID="V2" name="w" wgt="wgt"><labl>Weight</labl></var>
</dataDscr></codeBook>
"""
CROISSANT = {
    "@context": {"sc": "https://schema.org/"},
    "@type": "sc:Dataset",
    "cr:recordSet": [
        {
            "@type": "cr:RecordSet",
            "@id": "people",
            "key": {"@id": "people/id"},
            "field": [
                {"@id": "people/id", "dataType": "sc:Integer"},
                {"@id": "people/mail", "dataType": ["sc:Text", "https://schema.org/email"], "source": {"extract": {"column": "E-Mail"}}},
                {"@id": "people/born", "name": "born", "description": "Day of\nbirth", "equivalentProperty": "sc:birthDate"},
                {"@id": "people/height", "dataType": "sc:Float"},
            ],
        },
        {"@id": "splits", "field": [{"@id": "splits/name"}], "data": [{"splits/name": "train"}]},
    ],
}  # fmt: skip


def written(tmp_path, text: str, name: str = "book.txt", encoding: str = "utf-8"):
    (tmp_path / name).write_text(text, encoding=encoding)
    return tmp_path / name


def test_a_dictionary_of_redcap_proposes_what_it_marks_and_validates(tmp_path):
    book = read_codebook(written(tmp_path, REDCAP, "study.csv"))
    assert (book.file, book.kind) == ("study.csv", "a data dictionary of REDCap")
    proposals = {name: (each.proposal, each.evidence) for name, each in book.fields.items() if each.proposal}
    assert proposals == {
        "fullname": ("identifying", "identifier = y"),
        "reach": ("identifying", "validation = email"),
        "postal": ("quasi", "validation = zipcode"),
        "scan": ("identifying", "type = file"),
    }
    assert book.fields["postal"].label == "Postal code"
    assert [name for name in book.fields if name.startswith("race")] == ["race___1", "race____2"]
    assert book.fields["race____2"].label == "Race: Asian, other"
    assert "notes\nof two lines" in book.fields


def test_the_short_headings_of_a_program_are_the_same(tmp_path):
    text = "field_name,form_name,field_type,field_label,identifier\nssn,a,text,Number,Y\n"
    assert read_codebook(written(tmp_path, text)).fields["ssn"].proposal == "identifying"


def test_a_ddi_codebook_tells_labels_weights_and_missing_codes(tmp_path):
    assert read_codebook(written(tmp_path, DDI)).fields == {
        "v12": Field("v12", "Age of respondent", missing=("99", "98")),
        "w": Field("w", "Weight", "weight", "wgt = wgt"),
    }
    in_utf16 = DDI.replace("UTF-8", "UTF-16")
    assert "v12" in read_codebook(written(tmp_path, in_utf16, encoding="utf-16")).fields


def test_croissant_proposes_by_keys_and_words_of_schema_org(tmp_path):
    fields = read_codebook(written(tmp_path, json.dumps(CROISSANT))).fields
    assert {name: each.proposal for name, each in fields.items()} == {
        "id": "identifying",
        "E-Mail": "identifying",
        "born": "quasi",
        "height": "",
    }
    assert fields["born"].label == "Day of birth"
    assert fields["id"].evidence == "key of its record set"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("age,sex\n1,F\n", "no codebook of a kind that is read"),
        ("", "no codebook of a kind that is read"),
        (REDCAP + "a,b\n", "line 10 has 2 cells, not 7"),
        (REDCAP + "record,demo,text,Again,,,\n", "'record' twice"),
        ("<codeBook><dataDscr><var/></dataDscr></codeBook>", "a variable without a name"),
        ("<codeBook><dataDscr>", "no XML"),
        ("<" * 100_000, "no XML"),
        ("<a>" * 100_000, "no XML"),
        ("<DDIInstance/>", "its first element is 'DDIInstance'"),
        ('<!DOCTYPE c [<!ENTITY x "y"><!ENTITY z "&x;&x;">]><codeBook>&z;</codeBook>', "declares entities"),
        ('<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/passwd">]><codeBook>&x;</codeBook>', "declares entities"),
        ("{", "no JSON"),
        ('{"a":' * 100_000, "no JSON"),
        ('{"@type": "sc:Person"}', "no dataset"),
        ('{"@type": "sc:Dataset", "recordSet": {"field": [1]}}', "a field without a name"),
        ('<?xml version="1.0" encoding="cp037"?><codeBook/>', "in the encoding cp037"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_codebook_is_refused_in_words(text, problem, tmp_path):
    with pytest.raises(TableError, match=problem) as refused:
        read_codebook(written(tmp_path, text))
    assert str(refused.value).startswith("book.txt: ")


def test_a_folder_a_pipe_and_bytes_of_no_text_are_refused(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00\x01\x02")
    for name in ("pipe", "bytes", "absent", "."):
        with pytest.raises(TableError):
            read_codebook(tmp_path / name)


def test_names_in_other_case_are_the_same_where_nothing_else_is(tmp_path):
    book = read_codebook(written(tmp_path, DDI))
    assert book.of(["V12", "x"]).keys() == {"V12"}
    assert book.of(["V12", "v12"]).keys() == {"v12"}


RELEASE = Description(
    1_234,
    "HOLDS: the release satisfies its policy.",
    (
        Column("ag<e&", False, "quasi-identifier; 2 different cells", ("[20-39]", "[40-59], old")),
        Column("cost\x01", True, "sensitive; is rounded"),
        Column('a "name", of\ntwo lines', False, "insensitive; as it is"),
    ),
    "safe.csv",
    "ab" * 32,
)


@pytest.mark.parametrize("suffix", KINDS)
def test_what_is_written_is_read_again_with_the_same_columns(suffix, tmp_path):
    text = KINDS[suffix].text(RELEASE)
    fields = read_codebook(written(tmp_path, text, f"book{suffix}")).fields
    # XML has no place for control characters, and makes one blank of a new line in an attribute.
    expected = [each.name for each in RELEASE.columns]
    if suffix == ".xml":
        expected = ["ag<e&", "cost\ufffd", 'a "name", of\ntwo lines']
    assert [*fields] == expected
    assert not any(each.proposal for each in fields.values())
    assert text == KINDS[suffix].text(RELEASE)
    if suffix != ".csv":
        assert RELEASE.digest in text
        assert "[20-39]" in text


@pytest.mark.parametrize("suffix", KINDS)
def test_a_release_without_a_file_names_none(suffix, tmp_path):
    text = KINDS[suffix].text(replace(RELEASE, file="", digest=""))
    assert len(read_codebook(written(tmp_path, text, f"book{suffix}")).fields) == 3
    assert not {"contentUrl", "fileName", "sha256"} & set(text.replace("<", '"').replace(">", '"').split('"'))


def test_another_ending_is_refused():
    with pytest.raises(ParameterError, match=r"\.csv .*REDCap.*\.xml .*DDI.*\.json .*Croissant"):
        kind_for("book.yaml")
