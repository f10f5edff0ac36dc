// Package pageviews has the experiments on the counter of page views (P0 to P9).
package pageviews
