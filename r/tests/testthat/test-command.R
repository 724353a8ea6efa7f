left <- function() list.files(tempdir(), pattern = "^incrowd-")

test_that("a program that is absent is named with the way out", {
  before <- options(incrowd.command = "/nowhere/incrowd")
  on.exit(options(before))
  error <- expect_error(anonymize(people(), rules()), "pip install incrowd", class = "incrowd_input_error")
  expect_match(conditionMessage(error), "'/nowhere/incrowd' of the option incrowd.command", fixed = TRUE)
  options(incrowd.command = NULL)
  path <- Sys.getenv("PATH")
  named <- Sys.getenv("INCROWD", unset = NA)
  on.exit(Sys.setenv(PATH = path), add = TRUE)
  on.exit(if (is.na(named)) Sys.unsetenv("INCROWD") else Sys.setenv(INCROWD = named), add = TRUE)
  Sys.setenv(INCROWD = "/elsewhere/incrowd")
  expect_error(assess(people(), rules()), "'/elsewhere/incrowd' of the environment variable INCROWD", fixed = TRUE)
  Sys.unsetenv("INCROWD")
  Sys.setenv(PATH = "/nowhere")
  expect_error(assess(people(), rules()), "'incrowd' of the PATH", fixed = TRUE)
})

test_that("the exit status becomes an error of its class, with the words of standard error", {
  refused <- expect_error(with_program("echo 'incrowd: nothing was released' >&2; exit 1", anonymize(people(), rules())),
    class = "incrowd_refused"
  )
  expect_identical(conditionMessage(refused), "nothing was released")
  expect_identical(refused$status, 1L)
  expect_null(conditionCall(refused))
  usage <- "printf 'Usage: incrowd assess [OPTIONS]\\nTry -h\\n\\nError: No such option: --x\\n' >&2; exit 2"
  expect_error(with_program(usage, assess(people(), rules())), "^No such option: --x$", class = "incrowd_input_error")
  wrong <- expect_error(with_program("exit 2", assess(people(), rules())), class = "incrowd_input_error")
  expect_identical(wrong$status, 2L)
  broken <- expect_error(with_program("echo 'KeyError: Ann Miller' >&2; exit 70", assess(people(), rules())),
    class = "incrowd_error"
  )
  expect_identical(conditionMessage(broken), "incrowd ended with status 70, and without a result")
  expect_error(with_program("exit 0", anonymize(people(), rules())), "without a result", class = "incrowd_error")
  expect_identical(left(), character())
})

test_that("tables stand in a folder that nobody else can read, and are gone after the call", {
  script <- "ls -ld \"$(dirname \"$2\")\" | cut -c1-10 >&2; head -1 \"$2\" >&2; exit 1"
  before <- options(incrowd.files = "csv")
  on.exit(options(before))
  error <- tryCatch(with_program(script, anonymize(people(), rules())), error = identity)
  expect_match(conditionMessage(error), "^drwx------\n\"name\",\"age\"")
  expect_identical(left(), character())
})

test_that("no text becomes code of the shell", {
  evil <- "$(touch pwned); `touch pwned` ' \" \\ & | > \n *"
  script <- "for word in \"$@\"; do case \"$word\" in --purpose=*) printf '%s' \"$word\" >&2;; esac; done; exit 1"
  error <- tryCatch(with_program(script, anonymize(people(), rules(), purpose = evil)), error = identity)
  expect_identical(conditionMessage(error), paste0("--purpose=", evil))
  expect_false(file.exists("pwned"))
})

test_that("arguments become options, and those of the functions themselves are refused", {
  words <- incrowd:::as_words(list(
    max_suppression = 0.1, keep_order = TRUE, linked = FALSE, k = 5, null_value = c("?", "-"),
    accept = c("unique-column:a" = "why"), kinds = c("a", "b"), seed = NULL
  ))
  expect_identical(words, c(
    "--max-suppression=0.1", "--keep-order", "-k", "5", "--null-value=?", "--null-value=-",
    "--accept=unique-column:a=why", "--kinds=a,b"
  ))
  for (options in list(list(output = "x"), list(json = TRUE), list("x"), list("a b" = 1))) {
    expect_error(incrowd:::as_words(options), class = "incrowd_input_error")
  }
})
