"""Projects of ARX become policies: built here after the form that ARX 3.7 writes."""

from __future__ import annotations

import re
import zipfile

import pytest

import incrowd as ic
from incrowd.importers.arx import read_project

COLUMN = (
    "<assigment><name>{0}</name><type>{1}_ATTRIBUTE</type><datatype>String</datatype>"
    "<ref>hierarchies/{0}.csv</ref><min>{2}</min><max>{3}</max></assigment>"
)
ROWS = "name;age;sex;ill\n" + "".join(
    f"Zaphod{n};{20 + n % 4};{'MF'[n % 2]};{'flu' if n % 3 else 'cold'}\n" for n in range(40)
)
AGES = "".join(f"{age};{'young' if age < 22 else 'older'};*\n" for age in range(20, 24))


def project(path, *criteria, weights=(0.5, 0.5), outliers="0.1", **parts):
    """Write a project, where `parts` replace the default parts."""
    xml = "".join(f"<criterion>{each}</criterion>" for each in criteria)
    weighed = "".join(
        f"<attributeWeight><attribute>{name}</attribute><weight>{weight}</weight></attributeWeight>"
        for name, weight in zip(("age", "sex"), weights, strict=True)
    )
    columns = (
        COLUMN.format("name", "IDENTIFYING", "All", "All"),
        COLUMN.format("age", "QUASI_IDENTIFYING", "1", "All"),
        COLUMN.format("sex", "QUASI_IDENTIFYING", "All", "All"),
        COLUMN.format("ill", "SENSITIVE", "All", "All"),
    )
    result = {
        "metadata.xml": "<metadata><version>3.7.0</version></metadata>",
        "project.xml": "<project><separator>;</separator></project>",
        "input/definition.xml": f"<definition>{''.join(columns)}</definition>",
        "input/config.xml": f"<config><relativeMaxOutliers>{outliers}</relativeMaxOutliers>"
        f"<metric>Loss (0.5/1.0/1.0)</metric><attributeWeights>{weighed}</attributeWeights>"
        f"<criteria>{xml}</criteria></config>",
        "input/hierarchies/age.csv": AGES,
        "input/hierarchies/sex.csv": "M;*\nF;*\n",
        "data/input.csv": ROWS,
        "infoloss.dat": "not read",
    } | parts
    with zipfile.ZipFile(path, "w") as outcome:
        for name, text in result.items():
            if text is not None:
                outcome.writestr(name, text)
    return path


def test_a_project_is_released_and_verified_as_it_is(run_command, tmp_path):
    project(tmp_path / "p.deid", "5-anonymity", "distinct-2-diversity for attribute 'ill'")
    run = run_command
    assert run("import", tmp_path / "p.deid", "-o", tmp_path / "p").status == 0
    policy = str(tmp_path / "p" / "policy.toml")
    result = run("anonymize", tmp_path / "p" / "data.csv", "--policy", policy, "-o", tmp_path / "safe.csv")
    assert result.status == 0, result.err
    assert run("verify", tmp_path / "safe.csv", "--policy", policy).status == 0
    assert oct((tmp_path / "p").stat().st_mode)[-3:] == "700"


def test_roles_hierarchies_levels_weights_and_limits_are_read(tmp_path):
    result = read_project(project(tmp_path / "p.deid", "5-anonymity", weights=(0.9, 0.1)))
    schema = result.policy.schema
    assert {each.name: each.role for each in schema.attributes} == {
        "name": "identifying", "age": "quasi", "sex": "quasi", "ill": "sensitive",
    }  # fmt: skip
    assert (schema["age"].levels, schema["sex"].levels) == ((1, None), None)
    assert schema["age"].hierarchy.path(schema["age"].hierarchy.rank("20")) == ("20", "young", "*")
    assert (schema["age"].weight, schema["sex"].weight) == (0.9, 0.1)
    assert (result.policy.max_suppression, result.policy.algorithm.name) == (0.1, "optimal")
    assert (result.delimiter, result.unread) == (";", ())
    assert result.data == ROWS.encode()
    assert read_project(project(tmp_path / "q.deid", "5-anonymity")).policy.schema["age"].weight == 1


MODELS = {
    "5-anonymity": ic.KAnonymity(5),
    "5-map": ic.KMap(5),
    "(0.1,0.6)-presence": ic.DeltaPresence(0.6, 0.1),
    "distinct-3-diversity for attribute 'ill'": ic.LDiversity(3, attribute="ill"),
    "shannon-entropy-2.5-diversity for attribute 'ill'": ic.LDiversity(2.5, "entropy", attribute="ill"),
    "grassberger-entropy-2.0-diversity for attribute 'ill'": ic.LDiversity(
        2.0, "grassberger-arx", attribute="ill"
    ),
    "recursive-(4.0,3)-diversity for attribute 'ill'": ic.LDiversity(3, "recursive", c=4.0, attribute="ill"),
    "0.2-closeness with equal ground-distance for attribute 'ill'": ic.TCloseness(
        0.2, "equal", attribute="ill"
    ),
    "0.2-closeness with ordered distance for attribute 'ill'": ic.TCloseness(0.2, "ordered", attribute="ill"),
    "0.2-closeness with hierarchical ground-distance for attribute 'ill'": ic.TCloseness(
        0.2, "hierarchical", attribute="ill"
    ),
    "basic-1.5-likeness for attribute 'ill'": ic.BetaLikeness(1.5, "basic", attribute="ill"),
    "enhanced-1.5-likeness for attribute 'ill'": ic.BetaLikeness(1.5, "enhanced", attribute="ill"),
    "1.0-disclosure privacy for attribute 'ill'": ic.DeltaDisclosure(1.0, attribute="ill"),
    "(0.05)-avg-reidentification-risk": ic.AverageRisk(0.05),
}


@pytest.mark.parametrize("text", MODELS)
def test_every_model_that_has_a_counterpart_is_read(tmp_path, text):
    result = read_project(project(tmp_path / "p.deid", text))
    assert (result.policy.models, result.unread) == ((MODELS[text],), ())


@pytest.mark.parametrize(
    "text",
    ["(1.0E-4)-population-uniqueness (dankar)", "(0.01)-sample-uniqueness", "(2.0,1.0E-6)-DP", "Inclusion",
     "(0.05, 0.2 (0.2), 0.1)-avg-reidentification-risk", "0-anonymity", "something new"],
)  # fmt: skip
def test_what_has_no_counterpart_is_named_and_not_in_the_policy(run_command, tmp_path, text):
    result = read_project(project(tmp_path / "p.deid", "3-anonymity", text))
    assert result.policy.models == (ic.KAnonymity(3),)
    [line] = result.unread
    assert ("research subset" if text == "Inclusion" else text) in line
    outcome = run_command("import", tmp_path / "p.deid", "-o", tmp_path / "p")
    assert f"not read: {line}" in outcome.err


def test_a_project_without_a_model_that_is_understood_releases_nothing(run_command, tmp_path):
    project(tmp_path / "p.deid", "(0.01)-sample-uniqueness")
    run_command("import", tmp_path / "p.deid", "-o", tmp_path / "p")
    result = run_command(
        "anonymize",
        tmp_path / "p" / "data.csv",
        "--policy",
        tmp_path / "p" / "policy.toml",
        "-o",
        tmp_path / "x.csv",
    )
    assert result.status == 2
    assert "name at least one model" in result.err


def test_other_quality_models_and_hierarchies_that_are_no_tree_are_named(tmp_path):
    config = "<config><metric>Discernibility</metric><criteria><criterion>2-anonymity</criterion></criteria></config>"
    parts = {"input/config.xml": config, "input/hierarchies/sex.csv": "M;a;*\nF;b;*\nX;a;b\n"}
    result = read_project(project(tmp_path / "p.deid", **parts))
    assert re.search("quality model 'Discernibility'", " ".join(result.unread))
    assert re.search("column 'sex': its hierarchy is no tree", " ".join(result.unread))
    assert result.policy.schema["sex"].hierarchy is None


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"input/definition.xml": None}, "has no input/definition.xml"),
        (
            {"input/definition.xml": "<definition><assig"},
            "'input/definition.xml' is no readable XML, line 1",
        ),
        ({"input/config.xml": '<!DOCTYPE a [<!ENTITY b "c">]><config/>'}, "declares entities"),
        (
            {"input/definition.xml": f"<d>{COLUMN.format('a', 'NEW', 'All', 'All')}</d>"},
            "'NEW_ATTRIBUTE', unknown here",
        ),
        ({"project.xml": " " * (1 << 24) + "<p/>"}, "more than 16 MiB unpacked"),
    ],
)
def test_damaged_projects_are_refused_with_the_place(tmp_path, parts, why):
    with pytest.raises(ic.TableError, match=re.escape(why)):
        read_project(project(tmp_path / "p.deid", "5-anonymity", **parts))


def test_what_is_no_project_is_refused(tmp_path):
    (tmp_path / "p.deid").write_text("no zip")
    with pytest.raises(ic.TableError, match="is no project of ARX"):
        read_project(tmp_path / "p.deid")
    with pytest.raises(ic.TableError, match="cannot be read"):
        read_project(tmp_path / "none.deid")


NEST = "<a>" * 100_000 + "</a>" * 100_000


@pytest.mark.parametrize(
    "parts",
    [
        {"project.xml": "<project><separator>;;</separator></project>"},
        {"project.xml": "<project><separator>\n</separator></project>"},
        pytest.param(
            {"project.xml": f"<project>{NEST}<separator>;</separator></project>"}, marks=pytest.mark.slow
        ),
        {"input/definition.xml": f"<definition>{NEST}</definition>"},
        {"input/config.xml": f"<config>{NEST}</config>"},
        {"input/hierarchies/age.csv": "2" * 200_000 + ";*\n"},
        {"input/hierarchies/age.csv": "20;a\rb;*\n"},
        {"input/hierarchies/age.csv": AGES.encode("utf-16")},
    ],
)
def test_odd_parts_end_in_one_line_or_are_named_as_unread(parts, run_command, tmp_path):
    project(tmp_path / "p.deid", "5-anonymity", **parts)
    result = run_command("import", tmp_path / "p.deid", "-o", tmp_path / "p")
    assert result.status in (0, 2)
    assert "internal error" not in result.err
    assert result.status == 0 or len(result.err.splitlines()) == 1
