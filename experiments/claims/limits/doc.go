// Package limits has the experiments on rate limits (R0 to R10).
package limits
