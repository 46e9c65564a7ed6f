package server

import (
	"context"
	"errors"
)

func startEmbedded(context.Context) (*Server, error) {
	return nil, errors.New("the embedded server is not built in")
}
