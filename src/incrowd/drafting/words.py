"""Meanings of the names of columns in English, German, French, Spanish, Portuguese, Italian and Turkish.

A word with a star at its end also begins longer words: ``geburt*`` is in ``Geburtsdatum``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise


def words_of(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


PERSONAL = words_of(
    """
    surname surnames forename firstname lastname fullname maidenname givenname fname lname nachname
    vorname familienname zuname geburtsname prenom apellido apellidos sobrenome apelido cognome ssn
    passport reisepass* passeport pasaporte passaporto passaporte ausweis* dni nif nie cpf nir iban
    steuerid codicefiscale email mail emailaddress correo courriel phone telephone telefon* telefono
    telefone mobile handy movil celular cellulare fax address adresse anschrift direccion indirizzo
    endereco domicilio street strasse rue calle rua url ip ipaddress license licence licenseplate
    tckn tckimlik tckimlikno kimlikno soyad soyadi eposta pasaport plaka imza
    plate kennzeichen mrn uuid guid signature photo
    """
)
"""Words for what names or reaches one person."""

NAMES = words_of(
    """
    name names nom nome nombre isim ismi ad adi
    """
)
"""Words for names of people, and of everything else, too."""

PEOPLE = words_of(
    """
    patient* subject subjects subjid usubjid pid person* participant* proband* member mitglied*
    customer* client* kunde* employee* mitarbeiter* student* schueler* user users respondent*
    individual* paciente* paziente* cliente* persona* utente* usuario* usager* assure* versichert*
    borrower* applicant* voter* resident* inmate* hasta hastano musteri* ogrenci* calisan* uye kisi
    """
)
"""Words for people."""

IDS = words_of(
    """
    id ids ident identifier key rownames row rowid index nr no num nbr number nummer numero numer
    lfdnr matricule kennung code numara numarasi kodu
    """
)
"""Words that end the name of an identifier."""

THINGS = words_of(
    """
    job jobs ad ads posting vacancy stelle order orders bestellung* auftrag* commande pedido pedidos ordine
    siparis product products produkt* produit producto prodotto produto urun item items article* artikel
    articulo articolo sku store stores shop filiale branch magasin tienda negozio loja site station region
    city town county state country school schule* ecole escuela scuola escola class course kurs ward
    hospital clinic klinik* department abteilung* place location visit encounter admission stay event session
    transaction invoice rechnung* flight trip ticket team movie film episode device building gebaeude
    """
)
"""Words for what has ids of its own, and is nobody."""

POSTAL = words_of(
    """
    zip zipcode zips postcode postal postalcode plz postleitzahl cep codigopostal codepostal postakodu
    """
)
"""Words for postal codes."""

QUASI = {
    "age": words_of(
        """
        age ages agea agey fage mage xage alter altersgruppe altersklasse edad eta idade agegroup agegr
        agegrp aagegr ageband yas yasi yasgrubu
        """
    ),
    "birth": words_of(
        """
        birth birthday birthdate birthyear birthyr born dob yob dateofbirth geb gebdat geburt* naissance
        nacimiento nascita nascimento dogum*
        """
    ),
    "sex": words_of(
        """
        sex gender female male weiblich maennlich geschlecht sexe sexo genero sesso genre cinsiyet
        cinsiyeti
        """
    ),
    "place": words_of(
        """
        city town hometown birthplace birthcity birthstate birthcountry geburtsort heimatort
        village county state province provinz provincia region regiao regione country land
        bundesland kanton canton gemeinde commune comune ville ciudad citta cidade stadt ort
        wohnort municipio pays pais paese departement departamento district bezirk landkreis
        kreis neighborhood neighbourhood borough precinct quartier stadtteil location lat lon lng
        long latitude longitude residence wohnsitz
        sehir sehri il ili ilce ilcesi ulke ulkesi mahalle semt
        """
    )
    + POSTAL,
    "origin": words_of(
        """
        race ethnic ethnicity ethnie hispanic nationality nationalitat nationalite nationalitaet
        staatsangehorigkeit staatsangehoerigkeit citizenship citizen nacionalidad nazionalita
        nacionalidade herkunft raza raca razza religion konfession religione religiao
        uyruk uyrugu irk din dini etnik koken
        """
    ),
    "marital status": words_of(
        """
        marital married maritalstatus familienstand zivilstand civil etatcivil estadocivil
        statocivile spouse medeni medenihal medenidurum
        """
    ),
    "profession": words_of(
        """
        occupation job profession position team beruf workclass ocupacion
        profesion professione profissao metier taetigkeit tatigkeit jobtitle meslek meslegi
        """
    ),
    "education": words_of(
        """
        education educ edu degree bildung bildungsgrad ausbildung schulabschluss abschluss
        educacion educacao istruzione diplome estudios escolaridade egitim egitimi
        ogrenim
        """
    ),
    "household": words_of(
        """
        household haushalt* children kinder kids enfants hijos figli filhos hane* cocuk*
        """
    ),
    "language": words_of(
        """
        language lang sprache muttersprache langue idioma lingua dil dili
        """
    ),
}
"""What somebody who knows a person plausibly knows, and the words for it."""

SENSITIVE = words_of(
    """
    diag diagnos* diagnostico disease krankheit* maladie enfermedad malattia doenca condition illness
    symptom* medication* medikament* medicament* farmaco* drug drugs treatment behandlung* traitement
    tratamiento trattamento tratamento therapy therapie* procedure procedures hiv test tests result
    results ergebnis* befund* income incomes einkommen gehalt lohn salary salaire revenu salario
    ingresos reddito stipendio renda wage wages cost costs kosten charge charges debt debts schulden
    score crime offence offense conviction vote wahl party stay outcome readmitted death died
    comorbidity tani tanisi teshis* hastalik hastaligi ilac tedavi* maas maasi gelir geliri ucret borc
    """
)
"""Words for what people do not want known."""

_NEUTRAL = words_of(
    """
    cat category class code codes data date datum day desc fecha fips fl flag general group grp
    gruppe id level month name nbr no nr num number of status text time title txt type value x y year
    tarih tarihi durum durumu grubu yr mo mon d pl place
    """
)
"""Words after which a name still says what it said before them: ``birth_date``, ``education-num``."""

_BEFORE = words_of(
    """
    a al at bei de in on when
    """
)


def tokens(column: str) -> list[str]:
    """Return the words of a column's name in small letters, without accents.

    Examples
    --------
    >>> tokens("preOp_Größe2"), tokens("USUBJID")
    (['pre', 'op', 'grosse'], ['usubjid'])
    """
    plain = unicodedata.normalize("NFKD", column.replace("ß", "ss").replace("ı", "i"))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", plain)]


def says(words: list[str], column: str) -> str | None:
    """Return the first listed word among the words of a name, two of them together or all, or None.

    Examples
    --------
    >>> says(PERSONAL, "LastName"), says(PERSONAL, "Telefonnummer"), says(PERSONAL, "flow")
    ('lastname', 'telefonnummer', None)
    """
    parts = tokens(column)
    pairs = (first + second for first, second in pairwise(parts))
    return next((part for part in [*parts, *pairs, "".join(parts)] if _listed(words, part)), None)


def about(column: str) -> str | None:
    """Return the subject of a name, of `QUASI`: its last words decide, neutral ones aside.

    Examples
    --------
    >>> about("date_of_birth"), about("education-num"), about("job_req_any"), about("age_at_visit")
    ('birth', 'education', None, 'age')
    """
    parts = tokens(column)
    for place, part in enumerate(parts):
        if place and part in _BEFORE:
            early = _concept(parts[place - 1])
            if early:
                return early
    whole = _concept("".join(parts))
    if whole:
        return whole
    kept = list(parts)
    while kept:
        found = _concept(kept[-1])
        if found or kept[-1] not in _NEUTRAL:
            return found
        kept.pop()
    return None


def marks_of_people(columns: Iterable[str]) -> list[str]:
    """Return the columns that never change of a person: birth and sex, or else the origin.

    Examples
    --------
    >>> marks_of_people(["age", "birth_yr", "race", "sex"]), marks_of_people(["age", "race"])
    (['birth_yr', 'sex'], ['race'])
    """
    names = list(columns)
    birth, sex, origin = (
        [name for name in names if about(name) == concept] for concept in ("birth", "sex", "origin")
    )
    return birth + sex or origin


def is_usual(column: str) -> bool:
    """Say whether a name is one that columns have, and hardly a value that people have."""
    return about(column) is not None or bool(says([*PERSONAL, *NAMES, *PEOPLE, *SENSITIVE], column))


def _concept(word: str) -> str | None:
    return next((concept for concept, words in QUASI.items() if _listed(words, word)), None)


def _listed(words: list[str], part: str) -> bool:
    return any(part.startswith(word[:-1]) if word.endswith("*") else part == word for word in words)
