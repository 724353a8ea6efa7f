"""The diagnoses of the hospital sample: ICD-10-like codes in blocks and chapters, and how each behaves.

Codes and ranges follow the public outline of ICD-10 (three characters); the short titles are our own
words and every figure is invented: plausible enough for skew and correlation, of no medical use.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CHAPTERS", "DIAGNOSES", "Block", "Chapter", "Diagnosis"]


class Diagnosis(NamedTuple):
    """One code.

    Attributes
    ----------
    code, title
        Three characters, and what they mean.
    weight
        How often the code occurs, about per ten thousand discharges.
    ages, season, admission
        Names of profiles in ``_profiles``: `AGES`, `SEASONS`, `ADMISSIONS`.
    stay
        Median length of stay in days, for a person of 40 admitted as urgent.
    cost
        What the treatment costs on top of the days, in currency units.
    women
        Share of women, 0 to 1; at 0 or 1 the code occurs in that sex only.
    """

    code: str
    title: str
    weight: float
    ages: str
    stay: float
    cost: float
    women: float = 0.5
    season: str = "flat"
    admission: str = "acute"


class Block(NamedTuple):
    """A range of related codes."""

    label: str
    title: str
    diagnoses: tuple[Diagnosis, ...]


class Chapter(NamedTuple):
    """A range of blocks: one organ system or one kind of cause."""

    label: str
    title: str
    blocks: tuple[Block, ...]


D = Diagnosis

_INFECTIONS = Chapter(
    "A00-B99",
    "Infectious and parasitic diseases",
    (
        Block(
            "A00-A09",
            "Intestinal infections",
            (
                D("A04", "Bacterial intestinal infection", 28, "extremes", 4.5, 1900, season="summer"),
                D("A08", "Viral intestinal infection", 26, "infant", 2.2, 900, season="winter"),
                D("A09", "Gastroenteritis", 48, "broad", 2.4, 1000, season="summer"),
            ),
        ),
        Block("A15-A19", "Tuberculosis", (D("A15", "Tuberculosis of the lung", 3, "adult", 12, 5200, 0.36),)),
        Block(
            "A30-A49",
            "Other bacterial diseases",
            (
                D("A40", "Streptococcal sepsis", 36, "extremes", 6.5, 8200, 0.46, "winter"),
                D("A41", "Other sepsis", 420, "older", 6, 8800, 0.48),
                D("A46", "Erysipelas", 13, "older", 4.8, 1500, 0.47, "summer"),
            ),
        ),
        Block("B00-B09", "Viral infections of the skin", (D("B02", "Shingles", 8, "old", 4, 1400, 0.6),)),
        Block(
            "B15-B19", "Viral hepatitis", (D("B18", "Chronic viral hepatitis", 4, "middle", 4, 2900, 0.38),)
        ),
        Block("B20-B24", "HIV disease", (D("B24", "HIV disease, unspecified", 6, "adult", 6.5, 6100, 0.26),)),
        Block(
            "B25-B34",
            "Other viral diseases",
            (
                D("B27", "Infectious mononucleosis", 5, "child", 2.8, 1000),
                D("B34", "Viral infection, site not given", 22, "infant", 2, 900, season="winter"),
            ),
        ),
    ),
)

_NEOPLASMS = Chapter(
    "C00-D48",
    "Neoplasms",
    (
        Block(
            "C00-C14",
            "Cancer of lip, mouth and throat",
            (D("C10", "Cancer of the oropharynx", 6, "middle", 6, 9800, 0.24, admission="planned"),),
        ),
        Block(
            "C15-C26",
            "Cancer of the digestive organs",
            (
                D("C15", "Cancer of the oesophagus", 7, "older", 8, 14500, 0.24, admission="mixed"),
                D("C16", "Cancer of the stomach", 10, "older", 7.5, 13800, 0.37, admission="mixed"),
                D("C18", "Cancer of the colon", 36, "older", 6.2, 13200, 0.49, admission="mixed"),
                D("C20", "Cancer of the rectum", 14, "older", 6.4, 14100, 0.41, admission="planned"),
                D("C22", "Cancer of the liver", 11, "older", 5.6, 9900, 0.29, admission="mixed"),
                D("C25", "Cancer of the pancreas", 15, "older", 6.8, 13600, 0.49, admission="mixed"),
            ),
        ),
        Block(
            "C30-C39",
            "Cancer of the respiratory organs",
            (D("C34", "Cancer of the lung", 46, "older", 6, 11200, 0.46, admission="mixed"),),
        ),
        Block(
            "C43-C44",
            "Cancer of the skin",
            (
                D("C43", "Melanoma", 5, "middle", 2, 4900, 0.42, admission="planned"),
                D("C44", "Other cancer of the skin", 9, "old", 1.4, 3300, 0.41, admission="planned"),
            ),
        ),
        Block(
            "C50-C50",
            "Cancer of the breast",
            (D("C50", "Cancer of the breast", 27, "middle", 2, 9400, 0.99, admission="planned"),),
        ),
        Block(
            "C51-C58",
            "Cancer of the female organs",
            (
                D("C53", "Cancer of the cervix", 5, "adult", 3.6, 9100, 1.0, admission="planned"),
                D("C54", "Cancer of the womb", 12, "middle", 2.5, 10100, 1.0, admission="planned"),
                D("C56", "Cancer of the ovary", 9, "middle", 5.4, 12300, 1.0, admission="planned"),
            ),
        ),
        Block(
            "C60-C63",
            "Cancer of the male organs",
            (
                D("C61", "Cancer of the prostate", 30, "older", 1.9, 10900, 0.0, admission="planned"),
                D("C62", "Cancer of the testis", 2, "young_adult", 2.4, 6700, 0.0, admission="planned"),
            ),
        ),
        Block(
            "C64-C68",
            "Cancer of the urinary tract",
            (
                D("C64", "Cancer of the kidney", 17, "middle", 3.4, 12600, 0.38, admission="planned"),
                D("C67", "Cancer of the bladder", 16, "older", 3.8, 8700, 0.24, admission="planned"),
            ),
        ),
        Block(
            "C69-C72",
            "Cancer of eye and brain",
            (D("C71", "Cancer of the brain", 10, "middle", 6.5, 18700, 0.43, admission="mixed"),),
        ),
        Block(
            "C73-C75",
            "Cancer of the glands",
            (D("C73", "Cancer of the thyroid", 8, "adult", 1.5, 7100, 0.75, admission="planned"),),
        ),
        Block(
            "C76-C80",
            "Secondary cancer",
            (
                D(
                    "C78",
                    "Secondary cancer of lung or bowel",
                    40,
                    "older",
                    5.6,
                    8900,
                    0.52,
                    admission="mixed",
                ),
                D("C79", "Secondary cancer of other sites", 44, "older", 6, 9600, 0.5, admission="mixed"),
            ),
        ),
        Block(
            "C81-C96",
            "Cancer of blood and lymph",
            (
                D("C81", "Hodgkin lymphoma", 3, "young_adult", 4.5, 9300, 0.44, admission="mixed"),
                D("C85", "Non-Hodgkin lymphoma", 15, "older", 7, 13900, 0.45, admission="mixed"),
                D("C90", "Multiple myeloma", 10, "older", 8.5, 17400, 0.45, admission="mixed"),
                D("C91", "Lymphoid leukaemia", 8, "child", 7.5, 16900, 0.44, admission="mixed"),
                D("C92", "Myeloid leukaemia", 11, "older", 13, 26500, 0.46, admission="mixed"),
            ),
        ),
        Block(
            "D10-D36",
            "Benign growths",
            (
                D("D12", "Benign growth of the bowel", 12, "older", 3, 7600, 0.47, admission="planned"),
                D("D25", "Fibroids of the womb", 44, "fibroid", 1.8, 7000, 1.0, admission="planned"),
                D("D32", "Benign growth of the meninges", 8, "middle", 4.6, 18200, 0.68, admission="planned"),
            ),
        ),
        Block(
            "D37-D48",
            "Growths of uncertain behaviour",
            (D("D46", "Myelodysplastic syndrome", 7, "old", 5.8, 9700, 0.42, admission="mixed"),),
        ),
    ),
)

_BLOOD = Chapter(
    "D50-D89",
    "Diseases of the blood and the immune system",
    (
        Block(
            "D50-D53",
            "Anaemia by lack of nutrients",
            (D("D50", "Iron deficiency", 34, "older", 2.8, 2300, 0.6),),
        ),
        Block(
            "D55-D59",
            "Anaemia by haemolysis",
            (D("D57", "Sickle-cell disease", 32, "young", 4.2, 2700, 0.53),),
        ),
        Block("D60-D64", "Other anaemia", (D("D64", "Anaemia, unspecified", 26, "old", 3, 2100, 0.57),)),
        Block("D65-D69", "Disorders of clotting", (D("D69", "Low platelets", 12, "broad", 3.2, 4900, 0.53),)),
        Block(
            "D70-D77",
            "Other diseases of the blood",
            (D("D70", "Low neutrophils", 16, "adult", 4.6, 5100, 0.5),),
        ),
    ),
)

_METABOLISM = Chapter(
    "E00-E90",
    "Diseases of glands, nutrition and metabolism",
    (
        Block(
            "E00-E07",
            "Diseases of the thyroid",
            (
                D("E04", "Goitre", 10, "adult", 1.4, 5600, 0.83, admission="planned"),
                D("E05", "Overactive thyroid", 8, "adult", 3, 2700, 0.77),
            ),
        ),
        Block(
            "E10-E14",
            "Diabetes",
            (
                D("E10", "Diabetes, type 1", 62, "young", 2.8, 2700, 0.49),
                D("E11", "Diabetes, type 2", 148, "middle", 4.2, 3800, 0.45),
            ),
        ),
        Block(
            "E65-E68", "Obesity", (D("E66", "Obesity", 52, "adult", 1.6, 10200, 0.79, admission="planned"),)
        ),
        Block(
            "E70-E90",
            "Disorders of metabolism",
            (
                D("E84", "Cystic fibrosis", 5, "young", 9.5, 9200, 0.52, admission="mixed"),
                D("E86", "Dehydration", 52, "extremes", 2.5, 1200, 0.55, "summer"),
                D("E87", "Disorder of fluids and salts", 78, "older", 3.2, 1900, 0.57),
            ),
        ),
    ),
)

_MIND = Chapter(
    "F00-F99",
    "Mental and behavioural disorders",
    (
        Block(
            "F00-F09",
            "Organic mental disorders",
            (
                D("F03", "Dementia, unspecified", 24, "old", 10, 1900, 0.58),
                D("F05", "Delirium", 16, "old", 6.5, 2100, 0.52),
            ),
        ),
        Block(
            "F10-F19",
            "Disorders by use of substances",
            (
                D("F10", "Disorder by alcohol", 116, "adult", 3.8, 1600, 0.28),
                D("F11", "Disorder by opioids", 46, "young_adult", 4, 1500, 0.38),
                D("F19", "Disorder by several drugs", 18, "young_adult", 4.2, 1600, 0.37),
            ),
        ),
        Block(
            "F20-F29",
            "Schizophrenia and related disorders",
            (
                D("F20", "Schizophrenia", 42, "adult", 10.5, 1600, 0.36),
                D("F25", "Schizoaffective disorder", 54, "adult", 9.4, 1500, 0.47),
                D("F29", "Psychosis, unspecified", 27, "young_adult", 6.8, 1500, 0.41),
            ),
        ),
        Block(
            "F30-F39",
            "Disorders of mood",
            (
                D("F31", "Bipolar disorder", 86, "young_adult", 7, 1400, 0.55),
                D("F32", "Depressive episode", 92, "young_adult", 5, 1200, 0.56, "spring"),
                D("F33", "Recurrent depression", 98, "young_adult", 5.6, 1200, 0.59, "spring"),
            ),
        ),
        Block(
            "F40-F48",
            "Anxiety and stress",
            (
                D("F41", "Anxiety disorder", 12, "young_adult", 3, 1000, 0.62),
                D("F43", "Reaction to severe stress", 18, "young_adult", 4, 1000, 0.55),
            ),
        ),
        Block("F50-F59", "Disorders of eating", (D("F50", "Eating disorder", 4, "teen", 13, 2300, 0.93),)),
        Block(
            "F60-F69",
            "Disorders of personality",
            (D("F60", "Personality disorder", 5, "young_adult", 6, 1200, 0.66),),
        ),
        Block("F90-F98", "Disorders of childhood", (D("F91", "Conduct disorder", 9, "teen", 7, 1200, 0.4),)),
    ),
)

_NERVES = Chapter(
    "G00-G99",
    "Diseases of the nervous system",
    (
        Block("G00-G09", "Inflammation of the brain", (D("G03", "Meningitis", 6, "young", 5, 4600, 0.49),)),
        Block(
            "G20-G26", "Disorders of movement", (D("G20", "Parkinson disease", 12, "old", 5.6, 3400, 0.4),)
        ),
        Block(
            "G30-G32",
            "Degeneration of the brain",
            (D("G30", "Alzheimer disease", 18, "old", 8.5, 2100, 0.63),),
        ),
        Block(
            "G35-G37",
            "Demyelinating diseases",
            (D("G35", "Multiple sclerosis", 10, "adult", 4.4, 3700, 0.73),),
        ),
        Block(
            "G40-G47",
            "Episodic disorders",
            (
                D("G40", "Epilepsy", 72, "broad", 3, 3100, 0.49),
                D("G43", "Migraine", 18, "young_adult", 2.2, 1500, 0.77),
                D("G45", "Transient loss of blood to the brain", 38, "old", 2, 2200, 0.55),
                D("G47", "Disorder of sleep", 7, "middle", 1.2, 3600, 0.36, admission="planned"),
            ),
        ),
        Block(
            "G50-G59",
            "Disorders of single nerves",
            (D("G56", "Carpal tunnel and related", 5, "middle", 0.3, 2200, 0.66, admission="planned"),),
        ),
        Block("G80-G83", "Paralysis", (D("G81", "Paralysis of one side", 8, "older", 12, 4100, 0.47),)),
    ),
)

_SENSES = (
    Chapter(
        "H00-H59",
        "Diseases of the eye",
        (
            Block(
                "H25-H28",
                "Diseases of the lens",
                (D("H25", "Cataract of old age", 40, "old", 0.2, 2700, 0.58, admission="planned"),),
            ),
            Block(
                "H30-H36",
                "Diseases of the retina",
                (D("H33", "Detached retina", 6, "middle", 0.8, 4600, 0.4, admission="mixed"),),
            ),
            Block(
                "H40-H42",
                "Glaucoma",
                (D("H40", "Glaucoma", 5, "older", 0.6, 2900, 0.53, admission="planned"),),
            ),
        ),
    ),
    Chapter(
        "H60-H95",
        "Diseases of the ear",
        (
            Block(
                "H65-H75",
                "Diseases of the middle ear",
                (D("H66", "Otitis media", 7, "infant", 1.7, 1200, 0.46, "winter"),),
            ),
            Block(
                "H80-H83",
                "Diseases of the inner ear",
                (D("H81", "Disorder of balance", 11, "older", 1.9, 1500, 0.6),),
            ),
        ),
    ),
)

_CIRCULATION = Chapter(
    "I00-I99",
    "Diseases of the circulation",
    (
        Block(
            "I10-I15",
            "High blood pressure",
            (
                D("I10", "High blood pressure", 30, "older", 2, 1500, 0.6),
                D("I11", "Heart disease by high blood pressure", 190, "old", 4.4, 3600, 0.5, "mild_winter"),
            ),
        ),
        Block(
            "I20-I25",
            "Coronary heart disease",
            (
                D("I20", "Angina", 24, "older", 2, 3900, 0.4),
                D("I21", "Heart attack", 176, "older", 3.6, 11900, 0.37, "mild_winter", "emergency"),
                D("I25", "Chronic coronary disease", 82, "older", 3.8, 15800, 0.28, admission="mixed"),
            ),
        ),
        Block(
            "I26-I28",
            "Diseases of the lung's vessels",
            (D("I26", "Pulmonary embolism", 54, "older", 3.8, 4700, 0.51),),
        ),
        Block(
            "I30-I52",
            "Other diseases of the heart",
            (
                D("I33", "Endocarditis", 5, "middle", 11, 14700, 0.38),
                D("I35", "Disease of the aortic valve", 28, "old", 4, 26800, 0.42, admission="planned"),
                D("I42", "Cardiomyopathy", 9, "middle", 4.6, 11300, 0.36, admission="mixed"),
                D("I44", "Heart block", 19, "old", 2.8, 9400, 0.45),
                D("I47", "Attack of fast heartbeat", 24, "older", 2.5, 7200, 0.42),
                D("I48", "Atrial fibrillation", 126, "old", 2.7, 4300, 0.5),
                D("I50", "Heart failure", 156, "old", 4.8, 4100, 0.5, "mild_winter"),
            ),
        ),
        Block(
            "I60-I69",
            "Diseases of the brain's vessels",
            (
                D("I60", "Subarachnoid bleeding", 9, "middle", 11, 23400, 0.61, admission="emergency"),
                D("I61", "Bleeding into the brain", 24, "older", 6.8, 11800, 0.48, admission="emergency"),
                D(
                    "I63",
                    "Stroke by a blocked artery",
                    162,
                    "old",
                    4.2,
                    7100,
                    0.5,
                    "mild_winter",
                    "emergency",
                ),
                D("I65", "Narrowed artery of the neck", 17, "older", 1.5, 8200, 0.4, admission="planned"),
            ),
        ),
        Block(
            "I70-I79",
            "Diseases of the arteries",
            (
                D("I70", "Atherosclerosis", 32, "older", 4.8, 11700, 0.4, admission="mixed"),
                D("I71", "Aneurysm of the aorta", 16, "older", 3.8, 22300, 0.25, admission="mixed"),
            ),
        ),
        Block(
            "I80-I89",
            "Diseases of the veins",
            (
                D("I80", "Clot in a vein", 26, "older", 3.2, 2800, 0.48),
                D("I83", "Varicose veins", 9, "middle", 0.5, 2800, 0.68, admission="planned"),
            ),
        ),
        Block(
            "I95-I99",
            "Other disorders of the circulation",
            (D("I95", "Low blood pressure", 22, "old", 2.6, 1700, 0.5),),
        ),
    ),
)

_BREATH = Chapter(
    "J00-J99",
    "Diseases of the respiratory system",
    (
        Block(
            "J00-J06",
            "Acute infection of the upper airways",
            (
                D("J05", "Croup", 10, "infant", 1.2, 900, 0.34, "autumn"),
                D("J06", "Cold with complications", 16, "infant", 1.6, 800, 0.46, "winter"),
            ),
        ),
        Block(
            "J09-J18",
            "Influenza and pneumonia",
            (
                D("J10", "Influenza", 54, "extremes", 3, 1900, 0.53, "influenza"),
                D("J15", "Pneumonia by bacteria", 30, "older", 6, 4700, 0.46, "winter"),
                D("J18", "Pneumonia, germ unknown", 182, "extremes", 3.9, 2600, 0.5, "winter"),
            ),
        ),
        Block(
            "J20-J22",
            "Acute infection of the lower airways",
            (
                D("J20", "Acute bronchitis", 15, "extremes", 2.6, 1300, 0.53, "winter"),
                D("J21", "Acute bronchiolitis", 62, "infant", 2.4, 1500, 0.41, "influenza"),
            ),
        ),
        Block(
            "J30-J39",
            "Other diseases of the upper airways",
            (
                D("J32", "Chronic sinusitis", 4, "adult", 1, 4300, 0.45, admission="planned"),
                D(
                    "J34",
                    "Other disorder of nose and sinuses",
                    5,
                    "young_adult",
                    0.7,
                    3400,
                    0.36,
                    admission="planned",
                ),
                D("J35", "Chronic disease of the tonsils", 12, "child", 0.8, 2500, 0.49, admission="planned"),
                D("J36", "Abscess beside the tonsil", 7, "young_adult", 1.8, 1700, 0.45),
            ),
        ),
        Block(
            "J40-J47",
            "Chronic disease of the lower airways",
            (
                D("J44", "Chronic obstructive lung disease", 162, "older", 3.8, 2400, 0.55, "winter"),
                D("J45", "Asthma", 70, "child", 2.1, 1600, 0.5, "autumn"),
            ),
        ),
        Block(
            "J60-J70",
            "Lung disease by inhaled matter",
            (D("J69", "Pneumonia by inhaled food", 44, "old", 6, 4900, 0.43),),
        ),
        Block(
            "J80-J84",
            "Diseases of the lung tissue",
            (D("J84", "Scarring of the lung", 12, "older", 5.8, 6100, 0.46),),
        ),
        Block(
            "J90-J94",
            "Diseases of the pleura",
            (
                D("J90", "Fluid around the lung", 18, "older", 4, 3900, 0.46),
                D("J93", "Collapsed lung", 9, "young_adult", 4.2, 4100, 0.24),
            ),
        ),
        Block(
            "J95-J99",
            "Failure of breathing",
            (D("J96", "Respiratory failure", 138, "older", 5.4, 6900, 0.51, "winter"),),
        ),
    ),
)

_DIGESTION = Chapter(
    "K00-K93",
    "Diseases of the digestive system",
    (
        Block(
            "K00-K14",
            "Diseases of mouth and teeth",
            (D("K04", "Abscess of a tooth", 7, "adult", 2, 1900, 0.46),),
        ),
        Block(
            "K20-K31",
            "Diseases of oesophagus and stomach",
            (
                D("K21", "Reflux", 20, "middle", 2, 3900, 0.58, admission="mixed"),
                D("K25", "Ulcer of the stomach", 26, "older", 3.9, 4300, 0.49),
                D("K26", "Ulcer of the duodenum", 17, "older", 4.2, 4500, 0.41),
                D("K29", "Gastritis", 26, "adult", 2.6, 2300, 0.51),
            ),
        ),
        Block(
            "K35-K38",
            "Diseases of the appendix",
            (D("K35", "Appendicitis", 86, "appendix", 1.9, 6500, 0.45, "summer", "emergency"),),
        ),
        Block(
            "K40-K46",
            "Hernia",
            (
                D("K40", "Hernia of the groin", 24, "older", 0.9, 5200, 0.1, admission="planned"),
                D("K42", "Hernia at the navel", 13, "middle", 1.2, 5600, 0.44, admission="planned"),
                D("K43", "Hernia of the abdominal wall", 26, "middle", 3.2, 8300, 0.55, admission="planned"),
            ),
        ),
        Block(
            "K50-K52",
            "Inflammation of the bowel",
            (
                D("K50", "Crohn disease", 20, "young_adult", 4.2, 4700, 0.53),
                D("K51", "Ulcerative colitis", 15, "young_adult", 4.6, 4600, 0.5),
                D("K52", "Other colitis", 28, "older", 2.8, 1700, 0.61),
            ),
        ),
        Block(
            "K55-K63",
            "Other diseases of the bowel",
            (
                D("K55", "Bowel short of blood", 22, "old", 4.8, 5900, 0.62),
                D("K56", "Blocked bowel", 92, "older", 4.2, 5200, 0.52),
                D("K57", "Diverticular disease", 84, "older", 3.6, 4700, 0.54),
                D("K59", "Constipation and related", 21, "extremes", 2.5, 1400, 0.57),
            ),
        ),
        Block(
            "K70-K77",
            "Diseases of the liver",
            (
                D("K70", "Liver disease by alcohol", 40, "middle", 5, 5300, 0.31),
                D("K74", "Cirrhosis of the liver", 17, "middle", 4.8, 6200, 0.43),
            ),
        ),
        Block(
            "K80-K87",
            "Diseases of gall bladder and pancreas",
            (
                D("K80", "Gallstones", 108, "adult", 2.8, 6700, 0.64),
                D("K81", "Inflamed gall bladder", 28, "adult", 3, 6900, 0.57),
                D("K85", "Acute pancreatitis", 88, "adult", 3.8, 3300, 0.46),
            ),
        ),
        Block(
            "K90-K93",
            "Other diseases of the digestive system",
            (D("K92", "Bleeding in the gut", 94, "old", 3.3, 3500, 0.49),),
        ),
    ),
)

_SKIN = Chapter(
    "L00-L99",
    "Diseases of the skin",
    (
        Block(
            "L00-L08",
            "Infections of the skin",
            (
                D("L02", "Abscess of the skin", 22, "adult", 2.8, 2200, 0.43, "summer"),
                D("L03", "Cellulitis", 132, "middle", 3.4, 1900, 0.43, "summer"),
            ),
        ),
        Block(
            "L40-L45",
            "Scaling disorders",
            (D("L40", "Psoriasis", 3, "adult", 5.6, 2100, 0.46, admission="mixed"),),
        ),
        Block(
            "L80-L99",
            "Other disorders of the skin",
            (
                D("L89", "Pressure ulcer", 17, "old", 8.5, 6100, 0.47),
                D("L97", "Ulcer of the leg", 12, "older", 6, 4700, 0.43),
            ),
        ),
    ),
)

_MOVEMENT = Chapter(
    "M00-M99",
    "Diseases of muscles, bones and joints",
    (
        Block(
            "M00-M25",
            "Diseases of the joints",
            (
                D("M06", "Rheumatoid arthritis", 5, "middle", 4.6, 4700, 0.75, admission="mixed"),
                D("M10", "Gout", 8, "older", 3, 1600, 0.29),
                D("M16", "Arthritis of the hip", 138, "older", 1.9, 13700, 0.55, admission="planned"),
                D("M17", "Arthritis of the knee", 192, "older", 2, 12900, 0.62, admission="planned"),
                D("M23", "Damaged knee", 10, "young_adult", 0.6, 4400, 0.4, admission="planned"),
            ),
        ),
        Block(
            "M30-M36", "Diseases of connective tissue", (D("M32", "Lupus", 6, "young_adult", 4.8, 4500, 0.9),)
        ),
        Block(
            "M40-M54",
            "Diseases of the back",
            (
                D("M48", "Narrowed spinal canal", 62, "older", 2.8, 18700, 0.51, admission="planned"),
                D("M51", "Slipped disc", 36, "adult", 2, 11800, 0.47, admission="planned"),
                D("M54", "Back pain", 24, "middle", 3, 2100, 0.56),
            ),
        ),
        Block(
            "M60-M79",
            "Diseases of muscles and tendons",
            (
                D("M62", "Breakdown of muscle", 17, "older", 4, 1900, 0.42, "summer"),
                D("M75", "Disorder of the shoulder", 11, "middle", 0.9, 7600, 0.45, admission="planned"),
            ),
        ),
        Block(
            "M80-M94",
            "Diseases of the bones",
            (
                D("M80", "Fracture by brittle bones", 21, "old", 4.6, 6200, 0.82),
                D("M86", "Infection of a bone", 26, "middle", 7.2, 6900, 0.33),
            ),
        ),
    ),
)

_URINARY = Chapter(
    "N00-N99",
    "Diseases of the urinary and sexual organs",
    (
        Block(
            "N00-N08",
            "Diseases of the kidney's filters",
            (D("N04", "Nephrotic syndrome", 4, "child", 4, 3300, 0.42),),
        ),
        Block(
            "N10-N16",
            "Infection and blockage of the kidney",
            (
                D("N10", "Acute infection of the kidney", 40, "young_adult", 3, 1800, 0.82),
                D("N13", "Blocked kidney", 34, "adult", 2.4, 4900, 0.5),
            ),
        ),
        Block(
            "N17-N19",
            "Failure of the kidney",
            (
                D("N17", "Acute kidney failure", 148, "old", 4.3, 3300, 0.47),
                D("N18", "Chronic kidney disease", 20, "older", 5.2, 9600, 0.42),
            ),
        ),
        Block(
            "N20-N23",
            "Stones of the urinary tract",
            (D("N20", "Stone of kidney or ureter", 36, "adult", 1.7, 4100, 0.44, "summer"),),
        ),
        Block(
            "N30-N39",
            "Other diseases of the urinary tract",
            (D("N39", "Infection of the urinary tract", 140, "old", 3.4, 1700, 0.68),),
        ),
        Block(
            "N40-N51",
            "Diseases of the male organs",
            (
                D("N40", "Enlarged prostate", 28, "older", 1.6, 4500, 0.0, admission="planned"),
                D("N41", "Inflamed prostate", 7, "middle", 3, 1800, 0.0),
                D("N45", "Inflamed testis", 5, "adult", 2.7, 1500, 0.0),
            ),
        ),
        Block(
            "N60-N64",
            "Disorders of the breast",
            (D("N61", "Infection of the breast", 4, "young_adult", 2.4, 1600, 0.97),),
        ),
        Block(
            "N70-N77",
            "Infection of the female organs",
            (D("N70", "Infection of tube or ovary", 8, "fertile", 2.8, 2300, 1.0),),
        ),
        Block(
            "N80-N98",
            "Other diseases of the female organs",
            (
                D("N80", "Endometriosis", 14, "fibroid", 1.5, 6500, 1.0, admission="planned"),
                D("N81", "Prolapse", 22, "older", 1.2, 6900, 1.0, admission="planned"),
                D("N83", "Cyst of the ovary", 13, "fertile", 1.6, 5300, 1.0),
                D("N92", "Heavy menstrual bleeding", 17, "fibroid", 1.3, 5600, 1.0, admission="mixed"),
            ),
        ),
    ),
)

_BIRTHS = Chapter(
    "O00-O99",
    "Pregnancy and childbirth",
    (
        Block(
            "O00-O08",
            "Pregnancy that ends early",
            (
                D("O00", "Pregnancy outside the womb", 8, "fertile", 1, 5300, 1.0, admission="emergency"),
                D("O03", "Miscarriage", 10, "fertile", 0.8, 2600, 1.0),
            ),
        ),
        Block(
            "O10-O16",
            "High blood pressure in pregnancy",
            (
                D(
                    "O13",
                    "High blood pressure by pregnancy",
                    52,
                    "fertile",
                    2.4,
                    3600,
                    1.0,
                    admission="birth",
                ),
                D("O14", "Pre-eclampsia", 58, "fertile", 3.4, 4700, 1.0, admission="birth"),
            ),
        ),
        Block(
            "O20-O29",
            "Other disorders of the mother",
            (
                D("O21", "Severe vomiting in pregnancy", 12, "fertile", 2, 1400, 1.0),
                D("O24", "Diabetes in pregnancy", 50, "fertile", 2.7, 4100, 1.0, admission="birth"),
            ),
        ),
        Block(
            "O30-O48",
            "Care for the unborn child",
            (
                D("O34", "Scar of an earlier caesarean", 186, "fertile", 2.6, 5700, 1.0, admission="planned"),
                D("O36", "Care for the unborn child", 72, "fertile", 2.3, 3600, 1.0, admission="birth"),
                D("O42", "Early rupture of the membranes", 70, "fertile", 2.6, 3500, 1.0, admission="birth"),
                D("O48", "Pregnancy past term", 92, "fertile", 2.2, 3400, 1.0, admission="birth"),
            ),
        ),
        Block(
            "O60-O75",
            "Complications of labour",
            (
                D("O60", "Labour before term", 34, "fertile", 2.9, 3900, 1.0, admission="birth"),
                D("O68", "Distress of the child in labour", 94, "fertile", 2.3, 4300, 1.0, admission="birth"),
                D("O70", "Tear in delivery", 142, "fertile", 1.9, 3100, 1.0, admission="birth"),
                D("O72", "Bleeding after delivery", 30, "fertile", 2.6, 4100, 1.0, admission="birth"),
            ),
        ),
        Block(
            "O80-O84",
            "Delivery",
            (
                D("O80", "Normal delivery", 150, "fertile", 1.8, 2800, 1.0, admission="birth"),
                D("O82", "Delivery by caesarean", 62, "fertile", 2.7, 5600, 1.0, admission="planned"),
            ),
        ),
        Block(
            "O85-O92",
            "Complications after delivery",
            (D("O86", "Infection after delivery", 7, "fertile", 3, 2300, 1.0),),
        ),
    ),
)

_NEWBORNS = Chapter(
    "P00-P96",
    "Conditions of the newborn",
    (
        Block(
            "P05-P08",
            "Growth and term of the newborn",
            (
                D("P05", "Slow growth before birth", 14, "newborn", 3.4, 2200, admission="newborn"),
                D("P07", "Born before term", 52, "newborn", 15, 11800, 0.48, admission="newborn"),
                D("P08", "Born after term or heavy", 12, "newborn", 2, 1100, 0.4, admission="newborn"),
            ),
        ),
        Block(
            "P20-P29",
            "Breathing of the newborn",
            (D("P22", "Distress in breathing", 26, "newborn", 6, 5900, 0.42, admission="newborn"),),
        ),
        Block(
            "P35-P39",
            "Infection of the newborn",
            (D("P36", "Sepsis of the newborn", 8, "newborn", 7.5, 6300, 0.45, admission="newborn"),),
        ),
        Block(
            "P50-P61",
            "Blood of the newborn",
            (D("P59", "Jaundice of the newborn", 30, "newborn", 2.3, 1400, 0.45, admission="newborn"),),
        ),
        Block(
            "P70-P74",
            "Metabolism of the newborn",
            (D("P70", "Low blood sugar", 11, "newborn", 2.8, 1900, 0.47, admission="newborn"),),
        ),
    ),
)

_MALFORMATIONS = Chapter(
    "Q00-Q99",
    "Malformations",
    (
        Block(
            "Q20-Q28",
            "Malformation of the heart",
            (D("Q21", "Hole in the heart", 8, "infant", 5, 21500, admission="planned"),),
        ),
        Block(
            "Q35-Q37",
            "Cleft lip and palate",
            (D("Q35", "Cleft palate", 3, "infant", 1.6, 7800, 0.53, admission="planned"),),
        ),
        Block(
            "Q65-Q79",
            "Malformation of the limbs",
            (D("Q66", "Malformed foot", 3, "infant", 1.2, 6400, 0.35, admission="planned"),),
        ),
    ),
)

_SYMPTOMS = Chapter(
    "R00-R99",
    "Symptoms without a diagnosis",
    (
        Block(
            "R00-R09",
            "Symptoms of heart and breathing",
            (
                D("R06", "Abnormal breathing", 14, "extremes", 1.7, 1300, 0.51),
                D("R07", "Chest pain", 66, "middle", 1.3, 2100, 0.51),
            ),
        ),
        Block(
            "R10-R19",
            "Symptoms of the abdomen",
            (
                D("R10", "Pain in the abdomen", 34, "adult", 1.8, 1600, 0.6),
                D("R11", "Nausea and vomiting", 13, "broad", 1.9, 1200, 0.63),
            ),
        ),
        Block("R40-R46", "Symptoms of the mind", (D("R41", "Disorientation", 26, "old", 2.9, 1800, 0.55),)),
        Block(
            "R50-R69",
            "General symptoms",
            (
                D("R50", "Fever", 24, "infant", 2, 1400, 0.47),
                D("R55", "Fainting", 40, "old", 1.9, 1900, 0.51),
                D("R56", "Convulsions", 24, "child", 2, 1900, 0.46),
            ),
        ),
    ),
)

_INJURIES = Chapter(
    "S00-T98",
    "Injury and poisoning",
    (
        Block(
            "S00-S09",
            "Injuries of the head",
            (
                D(
                    "S02",
                    "Fracture of the skull or face",
                    18,
                    "injury",
                    2.4,
                    6400,
                    0.27,
                    "summer",
                    "emergency",
                ),
                D("S06", "Injury of the brain", 54, "injury", 3.6, 6100, 0.35, "summer", "emergency"),
            ),
        ),
        Block(
            "S20-S29",
            "Injuries of the chest",
            (
                D("S22", "Fracture of a rib", 34, "older", 3.6, 4300, 0.4, admission="emergency"),
                D("S27", "Injury of the lung", 10, "injury", 4.4, 6800, 0.22, "summer", "emergency"),
            ),
        ),
        Block(
            "S30-S39",
            "Injuries of abdomen and pelvis",
            (
                D("S32", "Fracture of the pelvis", 38, "old", 4.6, 5800, 0.62, admission="emergency"),
                D("S36", "Injury inside the abdomen", 11, "injury", 4.4, 7600, 0.3, "summer", "emergency"),
            ),
        ),
        Block(
            "S40-S49",
            "Injuries of the shoulder",
            (D("S42", "Fracture of the upper arm", 36, "injury", 2.2, 7200, 0.5, "summer", "emergency"),),
        ),
        Block(
            "S50-S59",
            "Injuries of the elbow",
            (D("S52", "Fracture of the forearm", 32, "injury", 1.5, 6100, 0.46, "summer", "emergency"),),
        ),
        Block(
            "S60-S69",
            "Injuries of the hand",
            (
                D("S61", "Open wound of the hand", 7, "injury", 1.4, 2700, 0.22, "summer", "emergency"),
                D("S62", "Fracture of the hand", 7, "injury", 1.2, 4400, 0.22, "summer", "emergency"),
            ),
        ),
        Block(
            "S70-S79",
            "Injuries of the hip",
            (D("S72", "Fracture of the thigh", 112, "old", 4.7, 10400, 0.67, "mild_winter", "emergency"),),
        ),
        Block(
            "S80-S89",
            "Injuries of knee and leg",
            (
                D(
                    "S82",
                    "Fracture of the lower leg",
                    72,
                    "injury",
                    2.8,
                    8100,
                    0.48,
                    "mild_winter",
                    "emergency",
                ),
                D("S83", "Torn ligament of the knee", 9, "young_adult", 0.7, 5600, 0.4, admission="planned"),
            ),
        ),
        Block("T20-T32", "Burns", (D("T30", "Burn", 11, "injury", 6.5, 9300, 0.33, "summer", "emergency"),)),
        Block(
            "T36-T50",
            "Poisoning by drugs",
            (
                D("T40", "Poisoning by narcotics", 26, "young_adult", 2.4, 2800, 0.44, admission="emergency"),
                D("T42", "Poisoning by sedatives", 18, "young_adult", 2.3, 2500, 0.57, admission="emergency"),
            ),
        ),
        Block(
            "T66-T78",
            "Other effects of outer causes",
            (
                D("T67", "Heat stroke", 4, "older", 1.8, 1500, 0.33, "heat", "emergency"),
                D("T78", "Severe allergy", 6, "young", 1.1, 1200, 0.53, "spring", "emergency"),
            ),
        ),
        Block(
            "T80-T88",
            "Complications of treatment",
            (
                D("T81", "Complication of a procedure", 66, "middle", 4.8, 6600, 0.51),
                D("T82", "Complication of a heart device", 52, "older", 4, 10600, 0.43),
                D("T84", "Complication of a joint implant", 48, "older", 4, 15200, 0.53, admission="mixed"),
            ),
        ),
    ),
)

_CONTACTS = Chapter(
    "Z00-Z99",
    "Contact with care for other reasons",
    (
        Block(
            "Z30-Z39",
            "Contact around birth",
            (D("Z38", "Child born in hospital", 870, "newborn", 1.9, 700, 0.49, admission="newborn"),),
        ),
        Block(
            "Z40-Z54",
            "Contact for treatment",
            (
                D("Z47", "Care after an operation on bones", 17, "older", 8, 3300, 0.52, admission="planned"),
                D("Z51", "Chemotherapy and other care", 62, "middle", 3.4, 7300, 0.5, admission="planned"),
            ),
        ),
    ),
)

_SPECIAL = Chapter(
    "U00-U85",
    "Codes for special purposes",
    (Block("U00-U49", "New diseases", (D("U07", "COVID-19", 168, "older", 5, 5100, 0.48, "winter"),)),),
)

CHAPTERS: tuple[Chapter, ...] = (
    _INFECTIONS,
    _NEOPLASMS,
    _BLOOD,
    _METABOLISM,
    _MIND,
    _NERVES,
    *_SENSES,
    _CIRCULATION,
    _BREATH,
    _DIGESTION,
    _SKIN,
    _MOVEMENT,
    _URINARY,
    _BIRTHS,
    _NEWBORNS,
    _MALFORMATIONS,
    _SYMPTOMS,
    _INJURIES,
    _SPECIAL,
    _CONTACTS,
)

DIAGNOSES: tuple[Diagnosis, ...] = tuple(
    diagnosis for chapter in CHAPTERS for block in chapter.blocks for diagnosis in block.diagnoses
)
