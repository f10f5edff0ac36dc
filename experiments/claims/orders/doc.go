// Package orders has the experiments on an order that drivers grab (G1 to G12).
package orders
