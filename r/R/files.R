# Data frames as files, and files as data frames.

# Return the kind of file that tables travel in.
file_kind <- function() {
  wish <- getOption("incrowd.files", "parquet")
  if (!wish %in% c("parquet", "csv")) fail("the option incrowd.files is \"parquet\" or \"csv\"")
  if (wish == "parquet" && requireNamespace("nanoparquet", quietly = TRUE)) "parquet" else "csv"
}

# Say how the files that this package writes are read; nothing has to be guessed.
reading_words <- function(kind, header = TRUE) {
  if (kind == "csv") c("--delimiter=,", if (header) "--header-row=1")
}

# Write a data frame into a file of its own, and return the path.
write_frame <- function(frame, folder, name, kind = file_kind()) {
  if (!is.data.frame(frame)) fail("the table has to be a data frame, and not of the class ", class(frame)[1])
  if (!ncol(frame)) fail("the data frame has no columns")
  names <- utf8(names(frame))
  twice <- names[duplicated(names)]
  if (length(twice)) fail("the data frame has two columns of the name ", quoted(twice[1]))
  columns <- lapply(seq_along(names), function(at) plain_column(frame[[at]], names[at]))
  file <- file.path(folder, paste0(name, ".", kind))
  if (kind == "csv") {
    write_csv(columns, names, file)
  } else {
    plain <- structure(columns, names = names, row.names = .set_row_names(nrow(frame)), class = "data.frame")
    nanoparquet::write_parquet(plain, file)
  }
  file
}

# Write a CSV: texts in quotes, and a missing cell without. The bytes are UTF-8 in every locale.
write_csv <- function(columns, names, file) {
  quote <- function(text) paste0("\"", gsub("\"", "\"\"", text, fixed = TRUE), "\"")
  cells <- lapply(columns, function(column) {
    text <- plain_text(column)
    ifelse(is.na(text), "", if (is.character(column)) quote(text) else text)
  })
  con <- file(file, "wb")
  on.exit(close(con))
  writeLines(paste(quote(names), collapse = ","), con, sep = "\n", useBytes = TRUE)
  if (length(cells[[1]])) writeLines(do.call(paste, c(cells, sep = ",")), con, sep = "\n", useBytes = TRUE)
}

# Read a file of the program as columns of texts, in which a missing cell is NA.
read_cells <- function(file, kind) {
  if (kind == "csv") return(read_csv(file))
  lapply(as.list(nanoparquet::read_parquet(file)), function(column) {
    if (inherits(column, "POSIXct")) attr(column, "tzone") <- "UTC"
    plain_text(column)
  })
}

# Read a CSV. What R has for it cannot tell "" from a missing cell.
read_csv <- function(file) {
  bytes <- readBin(file, "raw", file.size(file))
  if (length(bytes) && bytes[length(bytes)] != as.raw(10)) bytes <- c(bytes, as.raw(10))
  marks <- which(bytes == as.raw(34) | bytes == as.raw(44) | bytes == as.raw(10))
  is_quote <- bytes[marks] == as.raw(34)
  ends <- marks[!is_quote & cumsum(is_quote) %% 2 == 0]
  width <- match(as.raw(10), bytes[ends])
  whole <- rawToChar(bytes)
  # A position is that of a byte.
  Encoding(whole) <- "latin1"
  cells <- substring(whole, c(1, ends[-length(ends)] + 1), ends - 1)
  Encoding(cells) <- "UTF-8"
  cells[!nzchar(cells)] <- NA
  in_quotes <- which(startsWith(cells, "\""))
  inner <- substring(cells[in_quotes], 2, nchar(cells[in_quotes]) - 1)
  cells[in_quotes] <- gsub("\"\"", "\"", inner, fixed = TRUE)
  table <- matrix(cells, nrow = width)
  stats::setNames(lapply(seq_len(width), function(at) table[at, -1]), table[, 1])
}

# Return released columns as a data frame of the class of the raw one.
released_frame <- function(cells, raw) {
  columns <- lapply(names(cells), function(name) {
    at <- match(name, utf8(names(raw)))
    if (is.na(at)) cells[[name]] else released_column(cells[[name]], raw[[at]])
  })
  rows <- if (length(cells)) length(cells[[1]]) else 0L
  # Names of rows are not released: they may be names of people.
  frame <- structure(columns, names = names(cells), row.names = .set_row_names(rows), class = "data.frame")
  if (inherits(raw, "tbl_df")) class(frame) <- c("tbl_df", "tbl", "data.frame")
  frame
}
