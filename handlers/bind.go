package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/binding"
	"github.com/go-playground/validator/v10"
)

func init() { binding.EnableDecoderDisallowUnknownFields = true }

// handle adapts a handler that responds or returns an error. The path and the query of its request become a T, whose tags say what is
// allowed. If an error leaves open whether the handler did its work, the response gives the advice, in which :id stands for the id of
// the path; a handler that only reads has none.
func handle[T any](advice string, handler func(c *gin.Context, request T) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		var request T
		err := bind(c, &request)
		if err == nil {
			err = handler(c, request)
		}
		if err != nil {
			fail(c, addAdvice(err, strings.ReplaceAll(advice, ":id", c.Param("id"))))
		}
	}
}

// bind sets each field of request to the part of the path or the query that its form tag names. It binds one name at a time, because an
// error of gin does not say which one is wrong.
func bind(c *gin.Context, request any) error {
	given := c.Request.URL.Query()
	for _, part := range c.Params {
		given.Set(part.Key, part.Value)
	}
	for name, values := range given {
		if len(values) > 1 {
			return badRequest("%.20s is given %d times; give it once", name, len(values))
		}
		if err := binding.MapFormWithTag(request, map[string][]string{name: values}, "form"); err != nil {
			return badRequest("%.20s is %.20q; it must be %w", name, values[0], err)
		}
	}
	return validate(request)
}

// bindBody parses the body as JSON. example is a body that is right, with its limits.
func bindBody(c *gin.Context, body any, example string) error {
	data, err := c.GetRawData()
	if err != nil {
		return bodyError(err)
	}
	// gin's binding would ignore what follows the JSON, and replace what is not UTF-8.
	if !utf8.Valid(data) || !json.Valid(data) || binding.JSON.BindBody(data, body) != nil {
		return badRequest("the body is wrong; send %s", example)
	}
	return nil
}

// validate returns a sentence about the first field that does not have what its binding tag demands.
func validate(request any) error {
	err := binding.Validator.ValidateStruct(request)
	var wrong validator.ValidationErrors
	if !errors.As(err, &wrong) {
		return err
	}
	name := strings.ToLower(wrong[0].Field())
	if wrong[0].Tag() == "oneof" {
		return badRequest("%s is %.20q; it must be one of %s", name, wrong[0].Value(), wrong[0].Param())
	}
	return badRequest("%s is missing", name)
}

// number is the id of an order or an item, a driver, a buyer, or a quantity. It fits the signed integers of every database.
type number uint64

// UnmarshalParam implements [binding.BindUnmarshaler].
func (n *number) UnmarshalParam(text string) error {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil || value == 0 || value > math.MaxInt32 {
		return fmt.Errorf("a whole number from 1 to %d", math.MaxInt32)
	}
	*n = number(value)
	return nil
}

// noParameters is the request of a handler that takes none.
type noParameters struct{}

// pathID is the request of a handler that takes only the id in its path.
type pathID struct {
	ID number `form:"id"`
}
