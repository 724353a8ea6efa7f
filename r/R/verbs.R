#' Anonymize a data frame
#'
#' @param data A data frame or tibble.
#' @param policy The path of a policy file, or what [policy()] or [as_policy()] makes.
#' @param accept Points of the verdict that you have looked at, with the reason:
#'   `c("unique-column:ward" = "Wards are not known outside the hospital.")`.
#' @param keep_order Whether row N stays row N; else rows come in a random order.
#' @param ... Further options of `incrowd anonymize`, with `_` for `-`: `report = "report.html"`,
#'   `max_suppression = 0.02`, `unanswered = "write"`, `ledger = "releases"`. `TRUE` sets an option
#'   that has no value.
#' @return A data frame, or a tibble where `data` is one. [account()] has what was measured of it. If
#'   no release satisfies the policy, or a point of its verdict is open, there is none: the call
#'   fails with an error of the class `incrowd_refused`.
#'
#' @section Columns:
#' A column whose cells all fit the class of the raw column has that class: numbers, factors (also
#' ordered ones), days, times, truth values, labelled values of haven. Factors and labelled values
#' keep only the levels and labels that a row still has, because others would be raw values.
#'
#' A column with other cells, such as `[20-39]`, `{a, b}` or `*`, is a factor where the raw column has
#' categories (an ordered one if ranges of its levels do not overlap), else one of texts. A number
#' among such cells is a text, too. `*` is a suppressed cell,
#' and not a missing one, so it is no `NA`.
#'
#' Names of rows and other attributes of the data frame are not released. A labelled value is read as
#' its label, as in files of SPSS and Stata, so hierarchies name labels.
#'
#' Times have to be quasi-identifiers by the clock of their time zone. Where tables travel as CSV and
#' the policy is a file, it says how times are written: `format = "%Y-%m-%d %H:%M:%S"`.
#' @seealso [verify()], [attack()]
#' @examples
#' people <- data.frame(age = rep(20:59, 5), illness = rep(c("flu", "cold"), 100))
#' rules <- policy(quasi = "age", sensitive = "illness", k = 5, l = 2)
#' \dontrun{
#' safe <- anonymize(people, rules)
#' head(safe)
#' account(safe)
#' verify(safe, rules, against = people)
#' }
#' @export
anonymize <- function(data, policy, accept = NULL, keep_order = FALSE, ...) {
  options <- list(accept = accept, keep_order = keep_order, ...)
  in_private_folder(function(folder) {
    kind <- file_kind()
    release <- file.path(folder, paste0("release.", kind))
    said <- run_incrowd(c(
      "anonymize", write_frame(data, folder, "table", kind),
      paste0("--policy=", policy_file(policy, folder, data, kind)), paste0("--output=", release),
      reading_words(kind), as_words(options)
    ), folder)
    frame <- released_frame(read_cells(release, kind), data)
    with_account(frame, said)
  })
}

#' What was measured of a release
#'
#' @param release What [anonymize()] or [count_tables()] returned.
#' @return A list of the class `incrowd_result`: its models, risks, losses and verdict, as
#'   `incrowd anonymize --json` prints them. Its print is a summary.
#' @seealso [anonymize()], which has an example.
#' @export
account <- function(release) {
  said <- attr(release, "incrowd", exact = TRUE)
  if (is.null(said)) fail("it has no account: it is not what anonymize() or count_tables() returned")
  said$account
}

# The account stands in an environment, so that str() of a release does not show pages of it.
with_account <- function(release, said) {
  structure(release, incrowd = list2env(list(account = as_result(said)), parent = emptyenv()))
}

#' Measure how private a data frame is as it stands
#'
#' @inheritParams anonymize
#' @param data A data frame or tibble, or the path of a file.
#' @param ... Further options of `incrowd assess`, with `_` for `-`: `k = 5`, `by_class = TRUE`.
#' @return A list of the class `incrowd_result`. Its `status` is 0 where every limit of the policy is met,
#'   and 1 where one is not. It may have records, as examples of classes that fail.
#' @examples
#' \dontrun{
#' assess(people, policy(quasi = "age", sensitive = "illness", k = 5))
#' }
#' @export
assess <- function(data, policy, ...) {
  options <- list(...)
  in_private_folder(function(folder) {
    kind <- file_kind()
    as_result(run_incrowd(c(
      "assess", source_file(data, folder, "table", kind),
      paste0("--policy=", policy_file(policy, folder, data, kind)), reading_of(data, kind), as_words(options)
    ), folder, statuses = 0:1))
  })
}

#' Check a release by a second, independent implementation
#'
#' @param release A released data frame, or the path of a released file, or of a folder of count tables.
#' @param policy The policy that the release has to satisfy. Count tables need none.
#' @param against The raw data frame or its path: each cell has to be true of its record. Where the
#'   policy has a column of the role `person`, this and the option `row_map` are needed.
#' @param ... Further options of `incrowd verify`, with `_` for `-`: `profile = "ema-0070"`.
#' @return A list of the class `incrowd_result`. If the verdict is broken, or a point waits for an
#'   answer, the call fails with an error of the class `incrowd_refused`, whose field `result` has the
#'   list.
#' @seealso [anonymize()], which has an example.
#' @export
verify <- function(release, policy = NULL, against = NULL, ...) {
  options <- list(...)
  in_private_folder(function(folder) {
    kind <- file_kind()
    as_result(run_incrowd(c(
      "verify", source_file(release, folder, "release", kind),
      if (!is.null(policy)) paste0("--policy=", policy_file(policy, folder, against, kind)),
      if (!is.null(against)) paste0("--against=", source_file(against, folder, "table", kind)),
      # The header is that of the raw table; a release has it in the first row.
      if (is.data.frame(release)) reading_words(kind, header = is.data.frame(against)),
      as_words(options)
    ), folder))
  })
}

#' Try to single out, link and infer, and count the successes
#'
#' @inheritParams verify
#' @param data The raw data frame, or its path.
#' @param control Raw records of people whom the release does not hold, as a data frame or a path: the
#'   risk is then what the release gives away beyond what is true of everybody.
#' @param secret The sensitive column that is inferred.
#' @param attacks Guesses of each kind.
#' @param ... Further options of `incrowd attack`, with `_` for `-`: `kinds = "singling-out"`, `seed = 1`.
#' @return A list of the class `incrowd_result`: the table `attacks` has the shares of right guesses.
#' @seealso [anonymize()], which has an example.
#' @export
attack <- function(data, release, policy, control = NULL, secret = NULL, attacks = NULL, ...) {
  options <- list(secret = secret, attacks = attacks, ...)
  in_private_folder(function(folder) {
    kind <- file_kind()
    as_result(run_incrowd(c(
      "attack", source_file(data, folder, "table", kind), source_file(release, folder, "release", kind),
      paste0("--policy=", policy_file(policy, folder, data, kind)),
      if (!is.null(control)) paste0("--control=", source_file(control, folder, "control", kind)),
      if (is.data.frame(release)) reading_of(data, kind), as_words(options)
    ), folder))
  })
}

#' Make count tables that protect people
#'
#' This is `incrowd tabulate`. It has another name here, because R has a function `tabulate()`.
#'
#' @inheritParams anonymize
#' @param policy A policy with tables: `policy(..., tables = list(list(name = "ages", rows = "age",
#'   columns = "sex")))`, or the path of a policy file.
#' @param output A folder that is made and keeps the files, so that [verify()] can check them.
#' @param ... Further options of `incrowd tabulate`, with `_` for `-`: `seconds = 10`.
#' @return A list of data frames, one a table, with a row for each cell. A hidden cell is `NA`, and has
#'   an `x` in the column `mark`. If the audit finds a cell that can be computed, there is none: the
#'   call fails with an error of the class `incrowd_refused`.
#' @examples
#' \dontrun{
#' count_tables(people, policy(quasi = "sex", sensitive = "illness",
#'   tables = list(list(name = "ill", rows = "sex", columns = "illness"))))
#' }
#' @export
count_tables <- function(data, policy, output = NULL, accept = NULL, ...) {
  options <- list(accept = accept, ...)
  in_private_folder(function(folder) {
    kind <- file_kind()
    tables <- if (is.null(output)) file.path(folder, "tables") else path.expand(output)
    said <- run_incrowd(c(
      "tabulate", write_frame(data, folder, "table", kind),
      paste0("--policy=", policy_file(policy, folder, data, kind)), paste0("--output=", tables),
      "--kinds=csv", reading_words(kind), as_words(options)
    ), folder)
    names <- said$tables$name
    frames <- lapply(file.path(tables, paste0(names, ".csv")), table_frame)
    with_account(stats::setNames(frames, names), said)
  })
}

# Read a count table: codes are texts, and the column before the mark is the number.
table_frame <- function(file) {
  cells <- read_csv(file)
  number <- length(cells) - 1L
  cells[[number]] <- as.numeric(cells[[number]])
  structure(cells, row.names = .set_row_names(length(cells[[1]])), class = "data.frame")
}

#' Draft a policy
#'
#' The program looks at names and values of the columns, and writes a role for each, with the reason.
#' Answer each `role = "?"` before you use the file, and read the rest.
#'
#' @inheritParams anonymize
#' @param file The path of the policy file.
#' @param ... Further options of `incrowd init`, with `_` for `-`: `no_questions = TRUE`, `force = TRUE`.
#' @return The path, invisibly.
#' @export
draft_policy <- function(data, file, ...) {
  options <- list(...)
  in_private_folder(function(folder) {
    kind <- file_kind()
    run_incrowd(c(
      "init", write_frame(data, folder, "table", kind), paste0("--output=", path.expand(file)),
      reading_words(kind), as_words(options)
    ), folder, json = FALSE)
  })
  invisible(file)
}

# A data frame goes into a file; a path is taken as it is.
source_file <- function(table, folder, name, kind) {
  if (is.data.frame(table)) return(write_frame(table, folder, name, kind))
  if (!is.character(table) || length(table) != 1 || is.na(table)) fail("a table is a data frame or a path")
  if (!file.exists(table)) fail("there is no file ", quoted(table))
  normalizePath(table)
}

reading_of <- function(table, kind) if (is.data.frame(table)) reading_words(kind)

as_result <- function(said) structure(said, class = "incrowd_result")

#' @export
print.incrowd_result <- function(x, ...) {
  cat(result_lines(x), sep = "\n")
  invisible(x)
}

#' @export
format.incrowd_result <- function(x, ...) paste(result_lines(x), collapse = "\n")

# Say what was measured, without any record.
result_lines <- function(x) {
  measured <- if (is.null(x$after)) x else x$after
  c(
    x$format,
    verdict_lines(x),
    if (!is.null(measured$records)) sprintf("records: %d, suppressed: %d", measured$records, measured$suppressed),
    limit_lines(measured$privacy), limit_lines(x$findings, "reached", "asked"), attack_lines(x$attacks),
    table_lines(x$tables), if (length(x$unchecked)) paste0("not checked: ", x$unchecked)
  )
}

verdict_lines <- function(x) {
  points <- x$verdict$points
  said <- if (is.data.frame(points)) paste0("- ", points$point, ": ", points$text, " ", points$way_out)
  c(x$verdict$text, if (length(said)) sub(" +$", "", said))
}

limit_lines <- function(measures, value = "value", limit = "limit") {
  if (!is.data.frame(measures) || !limit %in% names(measures)) return(NULL)
  asked <- measures[!is.na(measures[[limit]]), ]
  if (!nrow(asked)) return(NULL)
  of <- if (is.null(asked$attribute)) NA else asked$attribute
  paste0(
    asked$model, ifelse(is.na(of), "", paste0(" of ", of)), ": ", asked$quantity, " = ",
    format_number(asked[[value]]), ", limit ", format_number(asked[[limit]]),
    ifelse(asked$holds, ", holds", ", does not hold")
  )
}

attack_lines <- function(attacks) {
  if (!is.data.frame(attacks) || !nrow(attacks)) return(NULL)
  share <- function(part) sprintf("%.1f%%", 100 * part$value)
  paste0(
    attacks$name, ": ", share(attacks$main), " right", ", guessing ", share(attacks$baseline)
  )
}

table_lines <- function(tables) {
  if (!is.data.frame(tables)) return(NULL)
  paste0(tables$name, ": ", tables$cells, " cells, ", tables$suppressed, " hidden")
}

format_number <- function(x) vapply(x, function(each) format(each, digits = 4), "")
