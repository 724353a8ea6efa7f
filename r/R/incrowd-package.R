#' Anonymize tables about people, and prove it
#'
#' A data frame and a policy go in, and a data frame comes out that satisfies the policy:
#'
#' ```
#' safe <- anonymize(people, policy(quasi = c("age", "sex"), sensitive = "diagnosis", k = 5, l = 2))
#' verify(safe, policy(quasi = c("age", "sex"), sensitive = "diagnosis", k = 5, l = 2))
#' ```
#'
#' The work is done by the program `incrowd`. Install it with `pip install incrowd`, or from a
#' checkout with `pip install .`. This package looks for it in three places, in this order:
#'
#' 1. the option `incrowd.command`: a program, and the words that it is called with, such as
#'    `options(incrowd.command = c("python3", "-m", "incrowd"))`;
#' 2. the environment variable `INCROWD`: the path of the program;
#' 3. `incrowd` on the `PATH`.
#'
#' # Errors
#'
#' What the program refuses is an error of the class `incrowd_error`. Its field `status` is the exit
#' status of the program. With status 1 the class is also `incrowd_refused`: the data does not
#' satisfy the policy, or a point of the verdict is open. With status 2 it is `incrowd_input_error`:
#' the table, the policy or the call is wrong. No message has a person's values.
#'
#' # Files
#'
#' Tables go to the program in files of a private folder (mode 0700), which is removed at the end of
#' each call, also after an error. They are Parquet files where the package `nanoparquet` is
#' installed, else CSV. `options(incrowd.files = "csv")` chooses CSV.
#'
#' @keywords internal
"_PACKAGE"
