// Package lists reads the lists of flags and variables, for each program of this repository.
package lists

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// plain reads the words of an argument, or the text between the commas of a flag.
var plain = kong.NewRegistry().RegisterDefaults().ForType(reflect.TypeFor[[]string]())

// Trimmed is for a parser. Spaces around an item are dropped, because people write them after a comma. An empty item is an error, because
// it may stand for a server that somebody forgot.
func Trimmed() kong.Option {
	return kong.TypeMapper(reflect.TypeFor[[]string](), kong.MapperFunc(read))
}

func read(ctx *kong.DecodeContext, target reflect.Value) error {
	before := target.Len()
	last := strings.HasSuffix(strings.TrimSpace(ctx.Scan.Peek().String()), ",") // kong drops an empty item at the end
	if err := plain.Decode(ctx, target); err != nil || ctx.Value.Flag == nil {
		return err
	}
	for i := before; i < target.Len(); i++ {
		item := strings.TrimSpace(target.Index(i).String())
		if item == "" {
			return empty(i - before + 1)
		}
		target.Index(i).SetString(item)
	}
	if last {
		return empty(target.Len() - before + 1)
	}
	return nil
}

func empty(n int) error {
	return fmt.Errorf("item %d of the list is empty; write one comma between two items, and none at the end", n)
}
