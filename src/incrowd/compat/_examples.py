"""Files of the examples that the pages of published interfaces begin with.

The tables are those that the documents print. Those whose files are larger come with the documents, or with
the data sets they name.
"""

from __future__ import annotations

from collections.abc import Mapping

from incrowd.core.errors import ParameterError, did_you_mean

__all__ = ["EXAMPLES", "example"]

EXAMPLES: Mapping[str, Mapping[str, str]] = {
    # Part 1 of the homework, and the jobs of its part 3.
    "comp430": {
        "hospital.csv": "Zip,Age,Nationality,Disease\n"
        "13053,28,Russian,Heart\n13068,29,American,Heart\n13068,21,Japanese,Flu\n13053,23,American,Flu\n"
        "14853,50,Indian,Cancer\n14853,55,Russian,Heart\n14850,47,American,Flu\n14850,59,American,Flu\n",
        "HospitalDGHs/Zip.txt": "*****\n\t130**\n\t\t13053\n\t\t13068\n\t1485*\n\t\t14850\n\t\t14853\n",
        "HospitalDGHs/Age.txt": "*\n\t<30\n\t\t21\n\t\t23\n\t\t28\n\t\t29\n"
        "\t>40\n\t\t47\n\t\t50\n\t\t55\n\t\t59\n",
        "HospitalDGHs/Nationality.txt": "*\n\tAmerican\n\tIndian\n\tJapanese\n\tRussian\n",
        "JobDGHs/Job.txt": "Any\n\tProfessional\n\t\tEngineer\n\t\tLawyer\n"
        "\tArtist\n\t\tDancer\n\t\tWriter\n",
        "JobDGHs/Sex.txt": "Any\n\tMale\n\tFemale\n",
    },
    # Two groups of two records.
    "k_anonymization": {
        "raw.csv": "age,sex\n20,M\n30,M\n40,M\n60,F\n",
        "released.csv": 'age,sex\n[20-30],M\n[20-30],M\n[40-60],"{F, M}"\n[40-60],"{F, M}"\n',
    },
    # Li, Li and Venkatasubramanian, t-Closeness, ICDE 2007, table 5, and the example table of the document.
    "petworks": {
        "data/patient_anonymized.csv": "ZIPCode;Age;Salary;Disease\n"
        "4767*;<=40;3;gastric ulcer\n4760*;<=40;4;gastritis\n4767*;<=40;5;stomach cancer\n"
        "4790*;>40;6;gastritis\n4790*;>40;11;flu\n4790*;>40;8;bronchitis\n"
        "4760*;<=40;7;bronchitis\n4767*;<=40;9;pneumonia\n4760*;<=40;10;stomach cancer\n",
        "data/patient_hierarchy/patient_hierarchy_Age.csv": "".join(
            f"{age};{span};*\n"
            for span, ages in {
                "[20,30[": (29, 22, 27), ">=40": (43, 52, 47), "[30,40[": (30, 36, 32)
            }.items()
            for age in ages
        ),
        "data/patient_hierarchy/patient_hierarchy_Disease.csv": "".join(
            f"{disease};{kind};respiratory&digestive disease\n"
            for disease, kind in {
                "gastric ulcer": "stomach disease;digestive system disease",
                "gastritis": "stomach disease;digestive system disease",
                "flu": "respiratory infection;vascular lung disease",
                "bronchitis": "respiratory infection;vascular lung disease",
                "pneumonia": "respiratory infection;vascular lung disease",
                "stomach cancer": "stomach disease;digestive system disease",
            }.items()
        ),
        "data/patient_hierarchy/patient_hierarchy_ZIPCode.csv": "".join(
            f"{zip_code};{zip_code[:4]}*;{zip_code[:3]}**;47***;4****;*****\n"
            for zip_code in ["47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607"]
        ),
        "table.csv": "born;salary;disease\n"
        "197*;3;cancer\n197*;4;flu\n198*;5;flu\n198*;6;gastritis\n198*;8;cancer\n",
        "salaries.csv": "born;salary\n197*;3k\n197*;4k\n198*;5k\n198*;6k\n198*;8k\n",
    },
}  # fmt: skip
"""The files by their paths, in UTF-8, for each module of `incrowd.compat` whose page needs some."""

_ELSEWHERE = {
    "notebook": "reads Adult, which comes with the notebook as Data/adult.all.txt",
    "p29": "reads df1-filter.csv of the notebook, and shows how it comes from UCI's diabetes data "
    "(https://doi.org/10.24432/C5230J)",
}
"""What the first example of the other pages reads."""


def example(name: str) -> Mapping[str, str]:
    """Return the files of an interface, named with hyphens or underscores.

    Raises
    ------
    ParameterError
        When there is no such interface, or none of its files are here; it says which there are, or where
        the files are.
    """
    module = name.replace("-", "_")
    if module in EXAMPLES:
        return EXAMPLES[module]
    if module in _ELSEWHERE:
        raise ParameterError(f"docs/compat/{module}.md {_ELSEWHERE[module]}")
    names = [*EXAMPLES, *_ELSEWHERE]
    raise ParameterError(
        f"there is no interface {name!r}; there are {', '.join(names)}{did_you_mean(name, names)}"
    )
