# Policies as lists, and their text in TOML.

.roles <- c("identifying", "quasi", "sensitive", "insensitive", "person", "household", "weight")
# Settings that are lists also where they have one value.
.lists <- c(
  "bands", "columns", "dates", "dominance", "intervals", "key_of", "knows", "levels", "missing",
  "null_values", "order", "quantiles", "rows"
)

#' Say what each column is, and what a release must satisfy
#'
#' A policy decides a release, apart from the data. `policy()` makes one of lists; a file that
#' `incrowd init`, [draft_policy()] or an editor wrote is named by its path.
#'
#' @param quasi Columns that others may know, such as age and sex: they are generalized.
#' @param sensitive Columns that others must not learn: the models protect them.
#' @param identifying Columns that are never released, such as names.
#' @param insensitive Columns that are released as they are.
#' @param person The column that says whose row it is: people are counted, and not rows.
#' @param household The column that says who lives together.
#' @param weight The column of sampling weights.
#' @param k k-anonymity: the smallest class of people who look alike.
#' @param l l-diversity: the least number of distinct sensitive values in a class.
#' @param t t-closeness: the largest distance of a class to the whole table.
#' @param models Further models, a list of lists:
#'   `list(list(model = "subset-k-anonymity", k = 3, of = 2))`.
#' @param hierarchies How values become coarser, by column: a recipe, such as
#'   `list(age = list(intervals = c(5, 10, 20)), zip = list(prefix = TRUE))`, or the path of a file.
#' @param treat What else happens to columns: `list(cost = list(round = 500, top = 0.99))`.
#' @param columns Further settings of columns: `list(income = list(missing = "-9"))`.
#' @param algorithm The search: a name such as `"mondrian"`, or a list with its `name` and settings.
#' @param accepted Points of the verdict that you have looked at, with the reason:
#'   `c("unique-column:ward" = "Wards are not known outside the hospital.")`.
#' @param unlisted What becomes of other columns: `"drop"` or `"keep"`. Without it they are refused.
#' @param ... Further settings of the policy file, such as `max_suppression = 0.02` or
#'   `tables = list(list(name = "ages", rows = "age", columns = "sex"))`. A vector of one value that has to
#'   be a list is written `I("a")`.
#' @return A list of the class `incrowd_policy`. Its print is the policy file.
#' @examples
#' policy(quasi = c("age", "sex"), sensitive = "diagnosis", k = 5, l = 2)
#' @export
policy <- function(quasi = NULL, sensitive = NULL, identifying = NULL, insensitive = NULL, person = NULL,
                   household = NULL, weight = NULL, k = NULL, l = NULL, t = NULL, models = list(),
                   hierarchies = list(), treat = list(), columns = list(), algorithm = NULL,
                   accepted = NULL, unlisted = NULL, ...) {
  limits <- Filter(Negate(is.null), list(k = k, l = l, t = t))
  for (name in names(limits)) {
    each <- limits[[name]]
    if (!is.numeric(each) || length(each) != 1 || !is.finite(each)) {
      fail(name, " has to be one number, such as ", name, " = ", c(k = "5", l = "2", t = "0.2")[[name]])
    }
  }
  roles <- list(
    identifying = identifying, quasi = quasi, sensitive = sensitive, insensitive = insensitive,
    person = person, household = household, weight = weight
  )
  settings <- list()
  for (role in .roles) {
    for (name in utf8(as.character(roles[[role]]))) {
      if (!is.null(settings[[name]])) fail("the column ", quoted(name), " has two roles in the policy")
      settings[[name]] <- list(role = role)
    }
  }
  for (name in names(hierarchies)) {
    each <- hierarchies[[name]]
    if (!(is.list(each) && length(names(each))) && !(is.character(each) && length(each) == 1)) {
      fail(
        "hierarchies: that of ", quoted(name), " is a recipe with its name, such as ",
        "list(intervals = c(5, 10)) or list(prefix = TRUE), or the path of a file"
      )
    }
  }
  hierarchies <- lapply(hierarchies, function(each) {
    if (is.character(each)) normalizePath(each, mustWork = FALSE) else each
  })
  as_setting <- function(values, name) lapply(values, function(each) stats::setNames(list(each), name))
  settings <- with_settings(settings, as_setting(hierarchies, "hierarchy"), "hierarchies")
  settings <- with_settings(settings, as_setting(treat, "treat"), "treat")
  settings <- with_settings(settings, columns, "columns")
  named <- list(
    if (!is.null(k)) list(model = "k-anonymity", k = k),
    if (!is.null(l)) list(model = "l-diversity", l = l),
    if (!is.null(t)) list(model = "t-closeness", t = t)
  )
  if (is.character(algorithm)) algorithm <- list(name = algorithm)
  others <- list(...)
  if (length(others) && (is.null(names(others)) || !all(nzchar(names(others))))) {
    fail("each further setting of a policy needs its name")
  }
  parts <- list(
    columns = settings, models = c(Filter(Negate(is.null), named), models), algorithm = algorithm,
    accepted = accepted_points(accepted)
  )
  settings <- c(list(version = 1L, unlisted = unlisted), others, Filter(length, parts))
  structure(settings, class = "incrowd_policy")
}

# Add settings to columns. A column may have a treatment and no role.
with_settings <- function(columns, settings, argument) {
  names <- utf8(as.character(names(settings)))
  if (length(names) != length(settings) || !all(nzchar(names))) {
    fail(argument, " has to be a list with a name, that of the column, for each entry")
  }
  for (at in seq_along(names)) {
    if (!is.list(settings[[at]])) fail(argument, ": the entry of ", quoted(names[at]), " has to be a list")
    columns[[names[at]]][names(settings[[at]])] <- settings[[at]]
  }
  columns
}

accepted_points <- function(accepted) {
  parts <- regmatches(names(accepted), regexpr(":", names(accepted), fixed = TRUE), invert = TRUE)
  if (length(parts) != length(accepted)) {
    fail("accepted has to name points and their columns: c(\"unique-column:ward\" = \"why\")")
  }
  # A few points are about no column.
  lapply(seq_along(parts), function(at) {
    list(point = parts[[at]][1], column = if (length(parts[[at]]) > 1) parts[[at]][2], why = accepted[[at]])
  })
}

#' Write a policy as a file of TOML
#'
#' Nobody else can read the file (mode 0600): hierarchies and models may name values.
#'
#' @param policy A list of the class `incrowd_policy`.
#' @param file The path of the file.
#' @param force Whether a file that exists is replaced.
#' @return The path, invisibly.
#' @examples
#' file <- tempfile(fileext = ".toml")
#' write_policy(policy(quasi = "age", k = 5), file)
#' cat(readLines(file), sep = "\n")
#' @export
write_policy <- function(policy, file, force = FALSE) {
  if (!inherits(policy, "incrowd_policy")) fail("the policy has to be one that policy() or as_policy() made")
  text <- policy_text(policy)
  file <- path.expand(file)
  if (file.exists(file) && !force) fail("the file of the policy exists; force = TRUE replaces it")
  unlink(file)
  before <- Sys.umask("077")
  on.exit(Sys.umask(before))
  con <- file(file, "wb")
  on.exit(close(con), add = TRUE)
  writeLines(text, con, sep = "\n", useBytes = TRUE)
  invisible(file)
}

#' @export
print.incrowd_policy <- function(x, ...) {
  cat(policy_text(x), sep = "\n")
  invisible(x)
}

#' @export
format.incrowd_policy <- function(x, ...) paste(policy_text(x), collapse = "\n")

# Return the lines of a policy file.
policy_text <- function(policy) {
  policy <- Filter(Negate(is.null), unclass(policy))
  is_table <- vapply(policy, function(each) is.list(each) && !is.null(names(each)), TRUE)
  is_tables <- vapply(policy, function(each) {
    is.list(each) && is.null(names(each)) && length(each) && all(vapply(each, is.list, TRUE))
  }, TRUE)
  lines <- toml_lines(policy[!is_table & !is_tables])
  for (name in names(policy)[is_table | is_tables]) {
    tables <- if (is_tables[[name]]) policy[[name]] else list(policy[[name]])
    header <- if (is_tables[[name]]) "[[%s]]" else "[%s]"
    if (name == "columns") {
      for (column in names(policy$columns)) {
        title <- paste0("columns.", toml_key(column))
        lines <- c(lines, "", sprintf("[%s]", title), toml_lines(policy$columns[[column]]))
      }
    } else {
      for (each in tables) lines <- c(lines, "", sprintf(header, toml_key(name)), toml_lines(each))
    }
  }
  lines
}

toml_lines <- function(settings) {
  settings <- Filter(Negate(is.null), settings)
  if (length(settings) && is.null(names(settings))) fail("each setting of a policy needs its name")
  vapply(names(settings), function(name) {
    paste(toml_key(name), "=", toml_value(settings[[name]], name))
  }, "", USE.NAMES = FALSE)
}

toml_key <- function(name) if (grepl("^[A-Za-z0-9_-]+$", name)) name else toml_string(name)

# Return a value as TOML writes it.
toml_value <- function(value, name) {
  if (is.list(value) && !is.null(names(value))) {
    return(paste0("{ ", paste(toml_lines(value), collapse = ", "), " }"))
  }
  if (is.list(value)) return(paste0("[", paste(vapply(value, toml_value, "", ""), collapse = ", "), "]"))
  if (is.factor(value) || inherits(value, "Date")) value <- as.character(value)
  if (!is.logical(value) && !is.numeric(value) && !is.character(value)) {
    fail("the setting ", quoted(name), " of the policy is made of texts, numbers, TRUE, FALSE or lists")
  }
  if (anyNA(value) || (is.numeric(value) && any(is.infinite(value)))) {
    fail("the setting ", quoted(name), " of the policy has a missing or an infinite value")
  }
  texts <- if (is.character(value)) {
    toml_string(as.character(value))
  } else if (is.logical(value)) {
    ifelse(value, "true", "false")
  } else {
    number_text(as.vector(unclass(value)))
  }
  listed <- inherits(value, "AsIs") || length(value) != 1 || (name %in% .lists && !is.logical(value))
  if (listed) paste0("[", paste(texts, collapse = ", "), "]") else texts
}

# Return texts in quotes, so that nothing in them ends the text.
toml_string <- function(text) {
  text <- utf8(text)
  if (!all(validUTF8(text))) fail("the policy has a text that is not valid in its encoding; see iconv()")
  text <- gsub("\"", "\\\"", gsub("\\", "\\\\", text, fixed = TRUE), fixed = TRUE)
  for (code in c(1:31, 127)) {
    text <- gsub(rawToChar(as.raw(code)), sprintf("\\u%04X", code), text, fixed = TRUE)
  }
  paste0("\"", text, "\"")
}

# Return the path of a policy; a list is written into the folder. Times in a CSV are texts, so the policy says
# how they are written.
policy_file <- function(policy, folder, frame = NULL, kind = "csv") {
  if (is.character(policy) && length(policy) == 1 && !is.na(policy)) {
    if (!file.exists(policy)) fail("there is no policy file ", quoted(policy))
    return(normalizePath(policy))
  }
  if (!inherits(policy, "incrowd_policy")) fail("the policy is the path of a file, or what policy() makes")
  if (kind == "csv" && is.data.frame(frame)) {
    for (name in intersect(names(policy$columns), names(frame))) {
      column <- frame[[name]]
      if (inherits(column, "POSIXct") && is.null(policy$columns[[name]]$format) &&
        policy$columns[[name]]$role %in% c("quasi", "sensitive", "insensitive")) {
        policy$columns[[name]]$format <- paste0(.time, if (has_fractions(column)) ".%f")
      }
    }
  }
  write_policy(policy, file.path(folder, "policy.toml"))
}
