# Made-up people, with a column of each class.
people <- function(rows = 400) {
  at <- seq_len(rows)
  set.seed(1)
  draw <- function(values) sample(values, rows, replace = TRUE)
  data.frame(
    name = paste0("Zo\u00eb \"", at, "\", of\nBern"),
    age = draw(18:77),
    town = factor(draw(c("Bern", "Z\u00fcrich", "Gen\u00e8ve")), levels = c("Z\u00fcrich", "Gen\u00e8ve", "Bern", "Chur")),
    income = round(1000 + (at * 37) %% 900 * 1.05, 2),
    illness = draw(c("flu", "cold", "a, \"b\"", "")),
    grade = factor(draw(c("low", "mid", "high")), levels = c("low", "mid", "high"), ordered = TRUE),
    day = as.Date("2024-01-01") + draw(0:9),
    seen = as.POSIXct("2024-05-01 08:30:00", tz = "Europe/Zurich") + 3600 * draw(0:4) + 86400 * draw(c(0, 40, 80)),
    insured = draw(c(TRUE, FALSE, NA)),
    visits = draw(c(0, 1, 2.5, NA))
  )
}

kept <- c("illness", "grade", "day", "seen", "insured", "visits")

rules <- function(...) {
  policy(
    quasi = c("age", "town"), sensitive = "illness", insensitive = setdiff(kept, "illness"),
    identifying = c("name", "income"), k = 5, l = 2, hierarchies = list(age = list(intervals = c(5, 10, 20))), ...
  )
}

accepted <- c("unique-together:day" = "made-up", "unique-together:seen" = "made-up", "unique-together:visits" = "made-up")

needs_incrowd <- function() {
  program <- tryCatch(incrowd:::find_command(), error = function(e) NULL)
  testthat::skip_if(is.null(program), "the program incrowd is not installed")
}

# Call `code` with a program in place of incrowd: a script of the shell.
with_program <- function(script, code) {
  file <- tempfile("program-")
  writeLines(c("#!/bin/sh", script), file)
  Sys.chmod(file, "0700")
  before <- options(incrowd.command = file)
  on.exit({
    options(before)
    unlink(file)
  })
  force(code)
}
