package forensics

import (
	"context"
	"strings"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// Client is a connection as CLIENT LIST describes it. Redisson names no library; the
// name is what its configuration's clientName says.
type Client struct {
	Address string `json:"address"`
	Name    string `json:"name,omitempty"`
	Library string `json:"library,omitempty"`
	Version string `json:"library_version,omitempty"`
	User    string `json:"user,omitempty"`
	// Age is for how many seconds it has been connected.
	Age string `json:"age_seconds,omitempty"`
}

// ParseClients reads the reply of CLIENT LIST. Lines without an address are left out.
func ParseClients(list string) []Client {
	var clients []Client
	for line := range strings.Lines(list) {
		field := map[string]string{}
		for word := range strings.FieldsSeq(line) {
			if name, value, ok := strings.Cut(word, "="); ok {
				field[name] = value
			}
		}
		if field["addr"] == "" {
			continue
		}
		clients = append(clients, Client{
			Address: field["addr"], Name: field["name"], Library: field["lib-name"], Version: field["lib-ver"],
			User: field["user"], Age: field["age"],
		})
	}
	return clients
}

// Subscribers counts who listens to a channel. Redis does not tell which clients these
// are: the second result is every client with a subscription of any kind, on the nodes
// where somebody listens to this one.
func Subscribers(ctx context.Context, client redis.Conn, channel string) (int, []Client, error) {
	count := 0
	var clients []Client
	err := eachNode(ctx, client, allNodes, func(ctx context.Context, node redis.Conn) error {
		n, err := redis.Subscribers(ctx, node, channel)
		if err != nil || n == 0 {
			return err
		}
		count += int(n)
		list, err := node.Do(ctx, "CLIENT", "LIST", "TYPE", "pubsub").Text()
		clients = append(clients, ParseClients(list)...)
		return err
	})
	return count, clients, err
}

// Patterns returns how many patterns clients of any node are subscribed to, as a guard of all
// queues is, of which Subscribers knows nothing.
func Patterns(ctx context.Context, client redis.Conn) (int64, error) {
	count := int64(0)
	err := eachNode(ctx, client, allNodes, func(ctx context.Context, node redis.Conn) error {
		n, err := node.Do(ctx, "PUBSUB", "NUMPAT").Int64()
		count += n
		return err
	})
	return count, err
}
