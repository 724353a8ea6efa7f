# Columns of R as plain columns, plain columns as texts, and texts as columns of R again.

.time <- "%Y-%m-%d %H:%M:%S"
.day <- "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

# Write a number with the fewest digits that say it, and never as 1e+05.
number_text <- function(x) {
  if (is.integer(x)) return(ifelse(is.na(x), NA_character_, sprintf("%d", x)))
  all <- rep(NA_character_, length(x))
  known <- !is.na(x)
  x <- x[known] + 0 # no -0
  text <- sprintf("%.15g", x)
  for (digits in 16:17) {
    short <- as.numeric(text) != x
    text[short] <- sprintf("%.*g", digits, x[short])
  }
  long <- grepl("e", text, fixed = TRUE)
  text[long] <- vapply(x[long], format, "", scientific = FALSE, digits = 15, trim = TRUE)
  all[known] <- text
  all
}

zone <- function(x) if (is.null(attr(x, "tzone"))) "" else attr(x, "tzone")[1]

has_fractions <- function(x) any(abs(as.numeric(x) - round(as.numeric(x))) > 5e-7, na.rm = TRUE)

# Write times as the clock of their time zone shows them.
time_text <- function(x) {
  if (!has_fractions(x)) return(format(as.POSIXct(round(x), tz = zone(x)), .time, tz = zone(x)))
  format(x + 5e-7, "%Y-%m-%d %H:%M:%OS6", tz = zone(x))
}

text_time <- function(text, tz) as.POSIXct(text, tz = tz, format = "%Y-%m-%d %H:%M:%OS")

# Return labelled values as the program reads them in files of SPSS: a code with a label is its label.
labelled_text <- function(x) {
  codes <- code_text(x)
  labels <- label_texts(x)
  labelled <- match(codes, names(labels))
  ifelse(is.na(labelled), codes, labels[labelled])
}

# Return codes as texts; the missing values .a to .z of Stata and SAS are codes, too.
code_text <- function(x) {
  values <- unclass(x)
  attributes(values) <- NULL
  if (is.character(values)) return(utf8(values))
  text <- number_text(values)
  if (is.double(values) && anyNA(values) && requireNamespace("haven", quietly = TRUE)) {
    tags <- haven::na_tag(values)
    text[!is.na(tags)] <- paste0(".", tags[!is.na(tags)])
  }
  text
}

# Return the labels of codes, each named by the text of its code.
label_texts <- function(x) {
  labels <- attr(x, "labels")
  if (is.null(labels)) return(character())
  codes <- code_text(labels)
  texts <- utf8(names(labels))
  twice <- texts %in% c(texts[duplicated(texts)], setdiff(code_text(x), codes))
  texts[twice] <- sprintf("%s (%s)", texts[twice], codes[twice])
  stats::setNames(texts, codes)
}

# Return a column as a vector of texts, numbers, truth values, days or times of the clock.
plain_column <- function(x, name) {
  refuse <- function(...) fail("the column ", quoted(name), " ", ...)
  if (!is.null(dim(x))) refuse("is a matrix or a data frame; make it columns of its own")
  if (inherits(x, "haven_labelled")) {
    x <- if (is.null(attr(x, "labels")) && is.numeric(x)) as.vector(unclass(x)) else labelled_text(x)
  }
  if (inherits(x, "AsIs")) class(x) <- setdiff(class(x), "AsIs")
  if (inherits(x, "factor")) x <- as.character(x)
  if (inherits(x, "integer64")) {
    if (!requireNamespace("bit64", quietly = TRUE)) refuse("has the class integer64: install bit64")
    x <- bit64::as.character.integer64(x)
  }
  if (inherits(x, "Date")) return(as.Date(floor(as.numeric(x)), origin = "1970-01-01"))
  if (inherits(x, "POSIXct")) return(plain_times(x, refuse))
  if (is.object(x) || !(is.character(x) || is.logical(x) || is.numeric(x))) {
    refuse("has the class ", class(x)[1], ", which is not known here; convert it, as by as.character()")
  }
  attributes(x) <- NULL
  if (is.character(x)) {
    x <- utf8(x)
    if (!all(validUTF8(x))) refuse("has texts that are not valid in their encoding; see iconv()")
  }
  if (is.numeric(x) && any(is.infinite(x))) refuse("has infinite numbers; replace them, for example by NA")
  if (is.double(x)) x[is.nan(x)] <- NA
  x
}

# Return times as the clock shows them, without a time zone.
plain_times <- function(x, refuse) {
  text <- time_text(x)
  back <- as.numeric(text_time(text, zone(x)))
  if (any(is.na(back) != is.na(x)) || any(abs(back - as.numeric(x)) > 1e-6, na.rm = TRUE)) {
    refuse("has times that its clock shows twice; give it another zone: attr(x, \"tzone\") <- \"UTC\"")
  }
  text_time(text, "UTC")
}

# Return a plain column as texts.
plain_text <- function(x) {
  if (inherits(x, "POSIXct")) return(time_text(x))
  if (inherits(x, "Date")) return(format(x, "%Y-%m-%d"))
  if (is.logical(x)) return(ifelse(x, "true", "false"))
  if (is.numeric(x)) return(number_text(x))
  x
}

# Kept beside values that come out unchanged. Other attributes may hold anything, also raw values.
.beside <- c(
  "label", "format.spss", "format.stata", "format.sas", "display_width", "na_values", "na_range", "tzone"
)

# Return released texts as a column of the class that the raw column has, where all of them fit into it.
released_column <- function(text, raw) {
  column <- same_class(text, raw)
  beside <- .beside
  if (is.null(column)) {
    column <- other_class(text, raw)
    beside <- "label"
  }
  for (name in intersect(beside, names(attributes(raw)))) attr(column, name) <- attr(raw, name)
  column
}

# Say which texts are numbers that lose nothing as such: a pseudonym such as 007 is none.
is_number <- function(text) {
  whole <- grepl("^-?(0|[1-9][0-9]*)$", text)
  whole[whole] <- number_text(as.numeric(text[whole])) == text[whole]
  whole | grepl("^-?(0|[1-9][0-9]*)([.][0-9]+([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$", text)
}

# Return texts as a column of the raw class; NULL where one does not fit.
same_class <- function(text, raw) {
  known <- text[!is.na(text)]
  if (inherits(raw, "haven_labelled")) return(same_labelled(text, raw))
  if (is.factor(raw)) {
    if (!all(known %in% utf8(levels(raw)))) return(NULL)
    # A level that no row has would be a raw value.
    levels <- utf8(levels(raw))
    return(factor(text, levels = levels[levels %in% known], ordered = is.ordered(raw)))
  }
  complete <- function(column) if (identical(is.na(column), is.na(text))) column
  if (inherits(raw, "Date")) return(if (all(grepl(.day, known))) complete(as.Date(text, "%Y-%m-%d")))
  if (inherits(raw, "POSIXct")) {
    # A Parquet file may have more digits, and a T.
    if (!all(grepl("^[0-9-]{10}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?$", known))) return(NULL)
    return(complete(text_time(sub("T", " ", text, fixed = TRUE), zone(raw))))
  }
  if (inherits(raw, "integer64")) return(if (all(grepl("^-?[0-9]+$", known))) bit64::as.integer64(text))
  if (is.logical(raw)) return(if (all(known %in% c("true", "false"))) text == "true")
  if (is.numeric(raw)) {
    if (!all(is_number(known))) return(NULL)
    numbers <- as.numeric(text)
    whole <- is.integer(raw) && all(numbers == trunc(numbers) & abs(numbers) < 2^31, na.rm = TRUE)
    return(if (whole) as.integer(numbers) else numbers)
  }
  text
}

same_labelled <- function(text, raw) {
  known <- unique(text[!is.na(text)])
  labels <- label_texts(raw)
  codes <- ifelse(known %in% labels, names(labels)[match(known, labels)], known)
  tagged <- grepl("^[.][a-z]$", codes)
  if (!is.character(raw) && !all(is_number(codes) | tagged)) return(NULL)
  if (is.character(raw)) {
    values <- codes
  } else {
    values <- suppressWarnings(as.numeric(codes))
    if (any(tagged)) values[tagged] <- haven::tagged_na(substring(codes[tagged], 2))
    # A code without a label that is none of the raw ones would be new.
    if (is.integer(raw)) values <- as.integer(values)
  }
  column <- values[match(text, known)]
  kept <- attr(raw, "labels")[names(labels) %in% codes]
  structure(column, labels = if (length(kept)) kept, class = class(raw))
}

# Return texts of which some are new, such as [20-39]: a factor where the raw column has categories.
other_class <- function(text, raw) {
  labels <- if (inherits(raw, "haven_labelled")) label_texts(raw)
  order <- if (is.factor(raw)) utf8(levels(raw)) else labels
  categories <- is.factor(raw) || (length(labels) && all(code_text(raw) %in% c(names(labels), NA)))
  if (!categories) return(text)
  known <- sort(unique(text), method = "radix")
  if (is.ordered(raw)) {
    # [a - b], {a, b} or a: each from one level to another. Where none overlap, the order is that of the levels.
    ends <- vapply(strsplit(gsub("^[[{]|[]}]$", "", known), " - |, "), function(names) {
      range(match(names, order))
    }, integer(2))
    if (!anyNA(ends)) {
      by_level <- base::order(ends[1, ])
      known <- known[by_level]
      ends <- ends[, by_level, drop = FALSE]
      if (all(ends[1, -1] > ends[2, -length(known)])) return(factor(text, levels = known, ordered = TRUE))
    }
  }
  factor(text, levels = c(order[order %in% known], setdiff(known, order)))
}
