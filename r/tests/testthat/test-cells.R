# What goes into a file comes out of it, and released texts become columns again.

roundtrip <- function(frame) {
  incrowd:::in_private_folder(function(folder) {
    incrowd:::released_frame(incrowd:::read_cells(incrowd:::write_frame(frame, folder, "table", "csv"), "csv"), frame)
  })
}

test_that("columns of every class come back as they were", {
  frame <- people()
  frame$town <- droplevels(frame$town)
  expect_equal(roundtrip(frame), frame)
  expect_identical(roundtrip(frame)$grade, frame$grade)
  expect_identical(roundtrip(frame)$seen, frame$seen)
})

test_that("a missing text and an empty one are two", {
  frame <- data.frame(a = c("x", NA, "", "NA", "\"", ",", "\n", "x\"\"y"), b = c(NA, 1:7))
  expect_identical(roundtrip(frame), frame)
})

test_that("numbers keep every digit and never have an exponent", {
  numbers <- c(0.1, 1 / 3, 1e5, 1e15, 123456789012, 1e-7, -0, 2^53, 1.5e300, NA)
  text <- incrowd:::number_text(numbers)
  expect_false(any(grepl("e", text)))
  expect_identical(text[c(1, 3, 7)], c("0.1", "100000", "0"))
  expect_identical(as.numeric(text), numbers + 0)
  expect_identical(incrowd:::number_text(100000L), "100000")
})

test_that("texts are the same in a locale without their letters", {
  before <- Sys.getlocale("LC_CTYPE")
  on.exit(Sys.setlocale("LC_CTYPE", before))
  Sys.setlocale("LC_CTYPE", "C")
  frame <- data.frame(a = c("Gen\u00e8ve", "\u4e2d"), stringsAsFactors = FALSE)
  expect_identical(utf8ToInt(roundtrip(frame)$a[2]), 0x4e2dL)
})

test_that("a level that no row has any more is not released", {
  raw <- factor(c("a", "b", "rare"), levels = c("rare", "b", "a"))
  released <- incrowd:::released_column(c("a", "b", NA), raw)
  expect_identical(released, factor(c("a", "b", NA), levels = c("b", "a")))
})

test_that("new cells make a factor of categories and texts of numbers", {
  raw <- factor(c("low", "mid"), levels = c("mid", "low"), ordered = TRUE)
  expect_identical(
    incrowd:::released_column(c("low", "*", "mid", "{low, mid}"), raw),
    factor(c("low", "*", "mid", "{low, mid}"), levels = c("mid", "low", "*", "{low, mid}"))
  )
  # Ranges of levels that do not overlap keep the order.
  raw <- factor(c("low", "mid", "high"), levels = c("low", "mid", "high"), ordered = TRUE)
  expect_identical(
    incrowd:::released_column(c("high", "[low - mid]", NA), raw),
    factor(c("high", "[low - mid]", NA), levels = c("[low - mid]", "high"), ordered = TRUE)
  )
  expect_false(is.ordered(incrowd:::released_column(c("mid", "[low - mid]"), raw)))
  expect_false(is.ordered(incrowd:::released_column(c("mid", "{low, high}"), raw)))
  expect_identical(incrowd:::released_column(c("[1-2]", "3", NA), 1:3), c("[1-2]", "3", NA))
  expect_identical(incrowd:::released_column(c("2024", NA), as.Date(c("2024-01-01", NA))), c("2024", NA))
  expect_identical(incrowd:::released_column(c("2024-02-31"), as.Date("2024-01-01")), "2024-02-31")
  expect_identical(incrowd:::released_column(c("1.5", "2"), 1:2), c(1.5, 2))
  # As numbers these pseudonyms would lose a zero and the last digit.
  expect_identical(incrowd:::released_column(c("007", "12"), 1:2), c("007", "12"))
  expect_identical(incrowd:::released_column("12345678901234567", 1), "12345678901234567")
})

test_that("labelled values are read as labels, and come back with codes", {
  skip_if_not_installed("haven")
  raw <- haven::labelled(c(1, 2, NA, 1), c(none = 1, school = 2, unused = 3), label = "Education")
  expect_identical(incrowd:::plain_column(raw, "x"), c("none", "school", NA, "none"))
  back <- roundtrip(data.frame(x = I(1:4), e = raw))$e
  expect_identical(back, haven::labelled(c(1, 2, NA, 1), c(none = 1, school = 2), label = "Education"))
  general <- incrowd:::released_column(c("none", "*", "*", "none"), raw)
  expect_identical(levels(general), c("none", "*"))
  expect_identical(attr(general, "label"), "Education")
  twice <- haven::labelled(c(8, 9, 1), c(other = 8, other = 9))
  expect_identical(incrowd:::plain_column(twice, "x"), c("other (8)", "other (9)", "1"))
  like <- haven::labelled(c(1, 2), c("2" = 1))
  expect_identical(incrowd:::plain_column(like, "x"), c("2 (1)", "2"))
  expect_identical(incrowd:::released_column(c("2 (1)", "2"), like), like)
  tagged <- haven::labelled(c(50, haven::tagged_na("a")), c(refused = haven::tagged_na("a")))
  expect_identical(incrowd:::plain_column(tagged, "x"), c("50", "refused"))
  expect_identical(haven::na_tag(incrowd:::released_column(c("50", "refused"), tagged)), c(NA, "a"))
})

test_that("tibbles stay tibbles, and names of rows stay here", {
  skip_if_not_installed("tibble")
  frame <- tibble::tibble(a = 1:2, `b c` = c("x", "y"))
  expect_identical(roundtrip(frame), frame)
  named <- data.frame(a = 1:2, row.names = c("Ann", "Bob"))
  expect_identical(rownames(roundtrip(named)), c("1", "2"))
})

test_that("what cannot be written is refused by the name of its column", {
  refuse <- function(column, why) {
    frame <- data.frame(a = 1:2)
    frame$secret <- column
    error <- expect_error(roundtrip(frame), why, class = "incrowd_input_error")
    expect_match(conditionMessage(error), "'secret'")
  }
  refuse(list(1, "x"), "class list")
  refuse(c(1i, 2), "class complex")
  refuse(as.difftime(1:2, units = "mins"), "class difftime")
  refuse(c(1, Inf), "infinite")
  refuse(matrix(1:4, 2), "matrix")
  refuse(c("a", "\xff"), "iconv")
  refuse(as.POSIXct(c(1729987200, 1729990800), origin = "1970-01-01", tz = "Europe/Berlin"), "twice")
  expect_error(roundtrip(structure(list(1, 2), names = c("a", "a"), row.names = 1L, class = "data.frame")), "two columns")
  expect_error(roundtrip(1:3), "data frame")
})
