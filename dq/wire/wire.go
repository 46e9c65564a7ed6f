// Package wire has the bytes: names, members, script texts.
//
// It holds everything Redisson's RDelayedQueue puts on the wire, without doing any I/O: the names of the keys, the layouts of the packed
// members, the list of Redisson releases, and the catalogue of Lua scripts by release.
//
// Nothing here is invented: names and layouts were compared with what running Redisson releases send, and the script bodies are recordings.
package wire
