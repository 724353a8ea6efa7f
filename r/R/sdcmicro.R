#' Make a policy of an object of sdcMicro
#'
#' The roles are those of `createSdcObj()`. As in sdcMicro, single cells are suppressed, and a missing
#' cell matches any value. The object does not say which `k` local suppression was asked for, so `k`
#' is an argument. Slots are read by their names: the package sdcMicro is not needed.
#'
#' | slot | role |
#' | --- | --- |
#' | `keyVars` | `quasi` |
#' | `sensibleVar` | `sensitive` |
#' | `weightVar` | `weight` |
#' | `hhId` | `household` |
#' | `strataVar` | `insensitive` |
#' | `numVars`, `pramVars`, `ghostVars` | a question, which `roles` answers |
#'
#' What was done to the data in sdcMicro is not taken over: give the raw data frame to [anonymize()].
#'
#' @param x An object of the class `sdcMicroObj`, or a policy, which comes back as it is.
#' @param k k-anonymity of the key variables.
#' @param roles Roles of columns, which also replace those of the table above:
#'   `c(income = "sensitive", savings = "insensitive")`.
#' @param ... Further arguments of [policy()], such as `l = 2` or `hierarchies`. They replace what the
#'   object says.
#' @return A list of the class `incrowd_policy`. The program refuses it while a role is `"?"`.
#' @examples
#' # sdc <- sdcMicro::createSdcObj(people, keyVars = c("sex", "age"), sensibleVar = "diagnosis")
#' # anonymize(people, as_policy(sdc, k = 3, l = 2))
#' @export
as_policy <- function(x, k = 3, roles = NULL, ...) {
  if (inherits(x, "incrowd_policy")) return(x)
  if (!isS4(x) || !methods::.hasSlot(x, "keyVars") || !methods::.hasSlot(x, "origData")) {
    fail("as_policy takes an object of sdcMicro, and not one of the class ", class(x)[1])
  }
  columns <- utf8(names(methods::slot(x, "origData")))
  of <- function(slot) {
    if (!methods::.hasSlot(x, slot)) return(character())
    at <- methods::slot(x, slot)
    # Ghost variables are pairs: the key variable, and those that follow.
    if (is.list(at)) at <- unlist(lapply(at, function(pair) pair[[2]]))
    if (is.character(at)) at else columns[at]
  }
  found <- list(
    quasi = of("keyVars"), sensitive = of("sensibleVar"), weight = of("weightVar"), household = of("hhId"),
    insensitive = of("strataVar"), "?" = c(of("numVars"), of("pramVars"), of("ghostVars"))
  )
  if (!length(found$quasi)) fail("the object of sdcMicro has no key variables")
  named <- character()
  for (role in names(found)) named[setdiff(found[[role]], names(named))] <- role
  if (length(roles)) {
    unknown <- setdiff(names(roles), columns)
    if (!length(names(roles)) || length(unknown)) fail("roles: no column of the object is ", quoted(unknown))
    named[names(roles)] <- as.character(roles)
  }
  given <- list(...)
  as_is <- list(
    k = k, columns = lapply(named, function(role) list(role = role)), unlisted = "drop",
    algorithm = "cell-suppression", wildcards = "matches-any", ends = "exact", suppressed = "keep"
  )
  do.call(policy, c(given, as_is[setdiff(names(as_is), names(given))]))
}
