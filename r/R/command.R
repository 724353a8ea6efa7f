# The program: where it is, how it is called, and what it says.

.missing <- paste0(
  "Install it with `pip install incrowd`, or from a checkout with `pip install .`. Where it is not on the ",
  "PATH, say where: options(incrowd.command = \"/path/to/incrowd\"), or the environment variable INCROWD."
)

# Return the program and the words that it is called with.
find_command <- function() {
  command <- getOption("incrowd.command")
  from <- "the option incrowd.command"
  if (is.null(command)) {
    command <- Sys.getenv("INCROWD", unset = NA)
    from <- "the environment variable INCROWD"
  }
  if (length(command) == 1 && (is.na(command) || !nzchar(command))) {
    command <- "incrowd"
    from <- "the PATH"
  }
  if (!is.character(command) || !length(command) || anyNA(command)) {
    fail("the option incrowd.command has to be a text: a program, and the words that it is called with")
  }
  program <- Sys.which(path.expand(command[1]))
  if (!nzchar(program)) {
    fail("the program ", quoted(command[1]), " of ", from, " was not found. ", .missing)
  }
  c(unname(program), command[-1])
}

# Call `work` with a private folder, which is gone afterwards, whatever happens.
in_private_folder <- function(work) {
  folder <- tempfile("incrowd-")
  if (!dir.create(folder, mode = "0700")) fail("no private folder could be made in the temporary one")
  on.exit(unlink(folder, recursive = TRUE, force = TRUE))
  work(folder)
}

# Return texts as UTF-8. Bytes of UTF-8 without a mark are what R reads in a locale without letters.
utf8 <- function(texts) {
  unmarked <- Encoding(texts) == "unknown"
  if (!l10n_info()[["Latin-1"]]) {
    known <- unmarked & validUTF8(texts)
    Encoding(texts[known]) <- "UTF-8"
    unmarked <- !unmarked
  }
  texts[unmarked] <- enc2utf8(texts[unmarked])
  texts
}

# Return texts as they are: R would write <U+00E9> for what the locale lacks.
as_bytes <- function(texts) {
  texts <- utf8(texts)
  Encoding(texts) <- "unknown"
  texts
}

read_text <- function(file) {
  if (!file.exists(file)) return("")
  text <- rawToChar(readBin(file, "raw", file.size(file)))
  Encoding(text) <- "UTF-8"
  text
}

# Run the program with words, of which none becomes code of a shell, and return what its JSON says.
# `statuses` are the exit statuses that have a result; every other one is an error.
run_incrowd <- function(words, folder, statuses = 0L, json = TRUE) {
  command <- find_command()
  out <- file.path(folder, "stdout")
  err <- file.path(folder, "stderr")
  words <- c(command[-1], words, "--log-level=warning", "--log-format=text", if (json) "--json")
  status <- suppressWarnings(system2(
    command[1], shQuote(as_bytes(words)),
    stdout = out, stderr = err, stdin = nullfile()
  ))
  said <- in_terms_of_r(read_text(err), folder)
  result <- if (json && status %in% 0:2) read_json(read_text(out))
  if (!status %in% statuses || (json && is.null(result))) {
    # A program that breaks may say anything; what it refuses it says in words meant to be read.
    if (!status %in% 1:2) said <- paste0("incrowd ended with status ", status, ", and without a result")
    if (!nzchar(said)) said <- paste(refusal_lines(result), collapse = "\n")
    fail(said, status = status, result = if (!is.null(result)) as_result(c(result, status = status)))
  }
  if (nzchar(said)) warn(said)
  c(result, status = status)
}

refusal_lines <- function(result) if (is.null(result$verdict)) "incrowd refused" else verdict_lines(result)

read_json <- function(text) {
  if (!nzchar(text)) return(NULL)
  result <- tryCatch(jsonlite::fromJSON(text), error = function(e) NULL)
  # It names a file that is gone, and the examples of an assessment are records.
  if (is.list(result)) result[["file"]] <- NULL
  result
}

# Say what the program says as a caller in R would.
in_terms_of_r <- function(said, folder) {
  names <- c("the data frame" = "table", "the release" = "release", "the policy" = "policy")
  for (kind in c(".csv", ".parquet", ".toml")) {
    for (words in names(names)) {
      said <- gsub(file.path(folder, paste0(names[[words]], kind)), words, said, fixed = TRUE)
    }
  }
  point <- "--accept ([a-z-]+(?::[^=\n]+)?)=\"\\.\\.\\.\""
  said <- gsub(point, "accept = c(\"\\1\" = \"...\")", said, perl = TRUE)
  said <- gsub("--unanswered write", "unanswered = \"write\"", said, fixed = TRUE)
  said <- sub("check the spelling and the delimiter, .* \\(--names\\)", "check the spelling", said)
  said <- gsub("--max-suppression", "max_suppression", said, fixed = TRUE)
  said <- sub("^Usage: .*\n\nError: ", "", said)
  sub("^incrowd: ", "", sub("\\s+$", "", said))
}

.several <- c("accept", "also", "hierarchy", "model", "null_value", "suppressed_as", "tables", "treat")
.files <- c(
  "attack_results", "control", "account", "emit_sql", "hierarchies", "ledger", "population",
  "previous_release", "recoding", "report", "row_map", "save_policy", "tables", "also"
)
.own <- c(
  "output", "policy", "json", "into", "dry_run", "quiet", "table", "sheet", "header_row", "delimiter",
  "encoding", "names", "stream", "help", "help_all", "against", "against_table", "full"
)

# Make words of arguments: max_suppression = 0.1 is --max-suppression=0.1.
as_words <- function(options) {
  if (!length(options)) return(character())
  names <- names(options)
  if (is.null(names) || !all(grepl("^[a-z][a-z0-9_]*$", names))) {
    fail("further arguments need the name of an option of the program, such as report = \"report.html\"")
  }
  if (any(names %in% .own)) fail("this function itself sets ", quoted(intersect(names, .own)))
  unlist(lapply(seq_along(options), function(at) as_word(names[at], options[[at]])))
}

as_word <- function(name, value) {
  if (is.null(value) || identical(value, FALSE)) return(NULL)
  option <- if (nchar(name) == 1) paste0("-", name) else paste0("--", gsub("_", "-", name, fixed = TRUE))
  if (isTRUE(value)) return(option)
  if (!is.atomic(value) || !length(value) || anyNA(value)) {
    fail("the argument ", name, " has to be TRUE, or numbers or texts without a missing one")
  }
  texts <- if (is.numeric(value)) number_text(value) else as.character(value)
  if (name %in% .files) texts <- path.expand(texts)
  if (!is.null(names(value))) texts <- paste0(names(value), "=", texts)
  if (!name %in% .several && length(texts) > 1) {
    if (any(grepl("[,\"]", texts))) fail("the argument ", name, " takes no text with a comma: use a policy")
    texts <- paste(texts, collapse = ",")
  }
  if (nchar(name) == 1) c(rbind(option, texts)) else paste0(option, "=", texts)
}
