package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/conformance/guest"
)

// infoOf returns what the server knows of a connection. Redis before 6.2 is asked for all.
func infoOf(ctx context.Context, do guest.Do) (guest.Client, error) {
	infos, err := clientsOf(ctx, do, "info")
	if guest.Refused(err) {
		infos, err = clientsOf(ctx, do, "list")
	}
	if err != nil {
		return guest.Client{}, fmt.Errorf("asking the server for the address of a connection: %w", err)
	}
	if len(infos) == 1 {
		return infos[0], nil
	}
	id, err := do(ctx, "client", "id")
	if i := slices.IndexFunc(infos, func(c guest.Client) bool { return c.ID == id }); i >= 0 {
		return infos[i], nil
	}
	return guest.Client{}, errors.Join(fmt.Errorf("asking the server for the address of a connection: CLIENT LIST does not name %v", id), err)
}

// clientsOf reads the lines of CLIENT INFO or LIST.
func clientsOf(ctx context.Context, do guest.Do, how string) ([]guest.Client, error) {
	reply, err := do(ctx, "client", how)
	list, _ := reply.(string)
	return guest.ParseClients(list), err
}
