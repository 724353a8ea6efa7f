text <- function(...) format(policy(...))

test_that("a policy is written as its file", {
  expect_identical(text(quasi = c("age", "sex"), sensitive = "diagnosis", k = 5, l = 2), paste(
    c(
      "version = 1", "", "[columns.age]", "role = \"quasi\"", "", "[columns.sex]", "role = \"quasi\"", "",
      "[columns.diagnosis]", "role = \"sensitive\"", "", "[[models]]", "model = \"k-anonymity\"", "k = 5", "",
      "[[models]]", "model = \"l-diversity\"", "l = 2"
    ),
    collapse = "\n"
  ))
})

test_that("no text of a name or a value ends its quotes", {
  name <- "a\"]\nrole = \"x\\"
  written <- text(quasi = name, columns = stats::setNames(list(list(missing = "\t\"")), name))
  expect_match(written, "[columns.\"a\\\"]\\u000Arole = \\\"x\\\\\"]", fixed = TRUE)
  expect_match(written, "missing = [\"\\u0009\\\"\"]", fixed = TRUE)
  expect_identical(length(strsplit(written, "\n")[[1]]), 5L)
})

test_that("lists are lists also with one value, and other values are not", {
  written <- text(
    quasi = "age", hierarchies = list(age = list(bands = 18)), null_values = "?", max_suppression = 0.02,
    treat = list(cost = list(round = 500, columns = I("a"))), keep_order = TRUE,
    tables = list(list(name = "t", rows = "age", columns = c("a", "b")))
  )
  for (line in c(
    "hierarchy = { bands = [18] }", "null_values = [\"?\"]", "max_suppression = 0.02", "keep_order = true",
    "treat = { round = 500, columns = [\"a\"] }", "[[tables]]", "rows = [\"age\"]", "columns = [\"a\", \"b\"]"
  )) expect_match(written, line, fixed = TRUE)
})

test_that("accepted points name a column, or none", {
  written <- text(quasi = "a", accepted = c("unique-column:a: b" = "one", "linked-tables" = "two"))
  expect_match(written, "point = \"unique-column\"\ncolumn = \"a: b\"\nwhy = \"one\"", fixed = TRUE)
  expect_match(written, "point = \"linked-tables\"\nwhy = \"two\"", fixed = TRUE)
})

test_that("mistakes are named", {
  expect_error(policy(quasi = "a", sensitive = "a"), "'a' has two roles", class = "incrowd_input_error")
  for (k in list("five", NA, c(2, 5), Inf)) {
    expect_error(policy(quasi = "a", k = k), "k has to be one number, such as k = 5", class = "incrowd_input_error")
  }
  for (each in list(c(5, 10), list(5, 10), TRUE, c("a", "b"))) {
    expect_error(
      policy(quasi = "a", hierarchies = list(a = each)), "that of 'a' is a recipe with its name",
      class = "incrowd_input_error"
    )
  }
  expect_error(policy(quasi = "a", accepted = "why"), "point", class = "incrowd_input_error")
  expect_error(policy(quasi = "a", hierarchies = list(list(flat = TRUE))), "hierarchies", class = "incrowd_input_error")
})

test_that("nobody else can read a policy file, and none is replaced", {
  file <- tempfile(fileext = ".toml")
  on.exit(unlink(file))
  write_policy(policy(quasi = "a"), file)
  expect_identical(as.character(file.mode(file)), "600")
  expect_error(write_policy(policy(quasi = "a"), file), "exists", class = "incrowd_input_error")
  expect_identical(write_policy(policy(quasi = "b"), file, force = TRUE), file)
})

# The slots of sdcMicro 5.8.1, whose package need not be there.
made_up_object <- function() {
  slots <- c(
    "origData", "keyVars", "pramVars", "numVars", "ghostVars", "weightVar", "hhId", "strataVar", "sensibleVar",
    "manipKeyVars", "manipPramVars", "manipNumVars", "manipGhostVars", "manipStrataVar", "originalRisk", "risk",
    "utility", "pram", "localSuppression", "options", "additionalResults", "set", "prev", "deletedVars"
  )
  methods::setClass("sdcMicroObj",
    where = environment(), representation = as.list(stats::setNames(rep("ANY", length(slots)), slots))
  )
  methods::new("sdcMicroObj",
    origData = data.frame(home = 1, sex = 1, age = 1, income = 1, w = 1, region = 1, ill = 1, other = 1),
    keyVars = c(2, 3), numVars = 4, weightVar = 5, hhId = 1, strataVar = 6, sensibleVar = 7, pramVars = NULL,
    ghostVars = list(list(2, 8))
  )
}

test_that("an object of sdcMicro becomes a policy", {
  written <- as_policy(made_up_object(), k = 3, l = 2, roles = c(income = "sensitive"))
  roles <- vapply(written$columns, function(each) each$role, "")
  expect_identical(roles, c(
    sex = "quasi", age = "quasi", ill = "sensitive", w = "weight", home = "household", region = "insensitive",
    income = "sensitive", other = "?"
  ))
  expect_identical(written$models, list(list(model = "k-anonymity", k = 3), list(model = "l-diversity", l = 2)))
  expect_identical(written$wildcards, "matches-any")
  expect_identical(as_policy(made_up_object())$columns$income$role, "?")
  expect_error(as_policy(made_up_object(), roles = c(nope = "quasi")), "'nope'", class = "incrowd_input_error")
  expect_error(as_policy(1), "class numeric", class = "incrowd_input_error")
})
