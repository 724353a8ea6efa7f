# Errors and warnings of this package. They have no call: a call may hold data that was written into it.

.classes <- c("incrowd_refused", "incrowd_input_error")

fail <- function(..., status = 2L, result = NULL) {
  stop(structure(
    class = c(if (status %in% 1:2) .classes[status], "incrowd_error", "error", "condition"),
    list(message = paste0(...), call = NULL, status = as.integer(status), result = result)
  ))
}

warn <- function(...) {
  warning(structure(
    class = c("incrowd_warning", "warning", "condition"),
    list(message = paste0(...), call = NULL)
  ))
}

quoted <- function(names) paste0("'", names, "'", collapse = ", ")
