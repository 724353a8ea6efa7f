# A release that several tests look at.
release <- local({
  made <- NULL
  function() {
    if (is.null(made)) made <<- anonymize(people(), rules(), keep_order = TRUE)
    made
  }
})

test_that("a data frame comes back anonymized, with classes, and verified", {
  needs_incrowd()
  raw <- people()
  safe <- release()
  expect_s3_class(safe, "data.frame", exact = TRUE)
  expect_identical(names(safe), setdiff(names(raw), c("name", "income")))
  for (column in kept) expect_identical(safe[[column]], raw[[column]], info = column)
  expect_type(safe$age, "character")
  expect_false("Chur" %in% levels(safe$town))
  expect_gte(min(table(safe$age, safe$town)[table(safe$age, safe$town) > 0]), 5)
  expect_identical(account(safe)$verdict$state, "holds")
  expect_output(print(account(safe)), "k-anonymity: k = ")
  expect_identical(verify(safe, rules(), against = raw)$status, 0L)
  expect_identical(list.files(tempdir(), pattern = "^incrowd-"), character())

  # What was changed is refused, with what was measured.
  safe$age[1] <- "18"
  error <- expect_error(verify(safe, rules()), "BROKEN", class = "incrowd_refused")
  expect_identical(error$result$verdict$state, "broken")
})

test_that("open points are refused in terms of R", {
  needs_incrowd()
  raw <- people()
  rare <- policy(quasi = c("age", "town"), insensitive = "income", unlisted = "drop", k = 5)
  error <- expect_error(anonymize(raw, rare), "accept = c(\"unique-column:income\" = \"...\")", fixed = TRUE, class = "incrowd_refused")
  expect_false(any(vapply(c(raw$name, raw$income), grepl, TRUE, conditionMessage(error), fixed = TRUE)))
})

test_that("a wrong policy is another error than a refusal", {
  needs_incrowd()
  error <- expect_error(anonymize(people(), policy(quasi = "nope", k = 5)), "'nope'", class = "incrowd_input_error")
  expect_no_match(conditionMessage(error), "--", fixed = TRUE)
  expect_error(anonymize(people(), "nowhere.toml"), "nowhere.toml", class = "incrowd_input_error")
})

test_that("assess measures, and says whether the limits are met", {
  needs_incrowd()
  raw <- assess(people(), rules())
  expect_identical(raw$status, 1L)
  expect_identical(raw$records, 400L)
  expect_output(print(raw), "does not hold")
})

test_that("attacks are counted", {
  needs_incrowd()
  raw <- people()
  tried <- attack(raw, release(), rules(), attacks = 20)
  expect_true(all(c("name", "main", "baseline") %in% names(tried$attacks)))
  expect_output(print(tried), "guessing")
})

test_that("count tables hide small cells, and their folder is verified", {
  needs_incrowd()
  raw <- data.frame(sex = rep(c("f", "m"), c(60, 40)), ill = c("flu", "flu", rep("cold", 58), rep("cold", 20), rep("flu", 20)))
  counts <- policy(quasi = "sex", sensitive = "ill", tables = list(list(name = "ill", rows = "sex", columns = "ill")))
  folder <- tempfile()
  on.exit(unlink(folder, recursive = TRUE))
  tables <- count_tables(raw, counts, output = folder)
  expect_identical(names(tables), "ill")
  of <- function(sex, ill) tables$ill$people[tables$ill$sex == sex & tables$ill$ill == ill]
  expect_identical(of("Total", "Total"), 100)
  expect_true(is.na(of("f", "flu")))
  expect_identical(verify(folder)$verdict$state, "holds")
  expect_output(print(account(tables)), "cells")
})

test_that("a draft is a policy file with questions", {
  needs_incrowd()
  file <- tempfile(fileext = ".toml")
  on.exit(unlink(file))
  draft_policy(people(), file)
  expect_match(paste(readLines(file), collapse = "\n"), "[columns.age]\nrole = \"quasi\"", fixed = TRUE)
})

test_that("times that are quasi-identifiers are dates, labels are values, and points are accepted", {
  needs_incrowd()
  skip_if_not_installed("haven")
  raw <- people()
  raw$school <- haven::labelled(1 + (seq_len(nrow(raw)) %/% 7) %% 2, c(none = 1, some = 2))
  safe <- anonymize(raw, policy(
    quasi = "seen", sensitive = "illness", insensitive = c("school", "income"), k = 20, l = 2, unlisted = "drop",
    hierarchies = list(seen = list(dates = "month"))
  ), accept = c("unique-column:income" = "it's known; \"$HOME\""), keep_order = TRUE)
  expect_identical(safe$income, raw$income)
  expect_match(account(safe)$verdict$points$accepted, "it's known; \"$HOME\"", fixed = TRUE)
  expect_match(safe$seen, "^2024-0[567]|2024-0[567]")
  expect_identical(safe$school, raw$school)
})

# Where a package for Parquet is installed, tables travel in such files.
if (incrowd:::file_kind() != "csv") {
  test_that("the release is the same by CSV and by Parquet", {
    needs_incrowd()
    by <- lapply(c("csv", "parquet"), function(kind) {
      before <- options(incrowd.files = kind)
      on.exit(options(before))
      anonymize(people(), rules(), keep_order = TRUE)
    })
    for (at in 1:2) attr(by[[at]], "incrowd") <- NULL
    expect_identical(by[[1]], by[[2]])
  })
}
