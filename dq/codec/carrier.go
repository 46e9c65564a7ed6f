package codec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// carrier checks that a value that was read in one codec can be written in another, and completes it:
// an array gets the type of its elements.
type carrier struct {
	model  *model
	from   Name
	to     Name
	limits jsonLimits
	budget int // see converter
	met    map[*instance]bool
}

func (c *carrier) refuse(value any, path, format string, args ...any) error {
	return &RecodeError{classOf(value), path, fmt.Sprintf(format, args...)}
}

// check looks at a value that is declared as j, or nil for nothing.
func (c *carrier) check(value any, j *javaType, path string) error {
	if c.budget--; c.budget < 0 {
		return &RecodeError{"", path, "references multiply the value beyond its bounds"}
	}
	one := instanceOf(value)
	value = unshared(value)
	if f, is := value.(foreign); is {
		return c.refuse(value, path, "%s", cmp.Or(f.reason, "it is a "+f.class+", which is not carried from one codec to another here"))
	}
	if wrong := unassignable(value, j); wrong != "" {
		return c.refuse(value, path, "%s", wrong)
	}
	if _, is := value.(optional); j.isOptional() && !is {
		return c.noOptional(value, path)
	}
	if one != nil && c.met[one] {
		return nil
	}
	if one != nil {
		c.met[one] = true
	}
	if wrong := c.limits.exceeded(value); wrong != "" {
		return c.refuse(value, path, "%s", wrong)
	}
	switch value := value.(type) {
	case nil, string, bool, int32, int64, float64, []byte:
		return nil
	case []any:
		return c.all(value, elementOf(j), path)
	case *elements:
		return c.elements(value, j, path)
	case *dictionary:
		return c.dictionary(value, j, path)
	case *object:
		if _, problem := value.class.extras(c.to); problem != "" && c.isJSON() {
			return c.refuse(value, path, "%s", problem)
		}
		if problem := c.model.unreadable(value.class); problem != "" && c.isJSON() {
			return c.refuse(value, path, "%s", problem)
		}
		class := value.class
		if class.isDeclaredBy(j) {
			class = j.class // of several that stand for a generic class
		}
		for i, f := range class.fields {
			if err := c.check(value.fields[i], f.typ, path+"."+f.name); err != nil {
				return err
			}
		}
		return nil
	case optional:
		if c.to != NameKryo5 {
			return c.refuse(value, path, "%s has no form for it", c.to)
		}
		return c.check(value.value, elementOf(j), path)
	case constant:
		return nil
	}
	if !c.writes(value) {
		return c.refuse(value, path, "how %s writes it depends on the release and its modules", c.to)
	}
	return nil
}

// noOptional is for a field of an Optional, of which nothing tells that it holds one: Jackson 3 reads null as an empty
// one, and leaves out what is null, and Jackson 2 has none.
func (c *carrier) noOptional(value any, path string) error {
	switch {
	case value != nil || c.from.jackson3():
		return c.refuse(value, path, "whether %s has an Optional there, an empty one or null, is not told apart here", c.from)
	case c.to == NameTypedJSON3:
		return c.refuse(value, path, "%s has null for an Optional, which is read as an empty one", c.to)
	}
	return nil
}

// writes reports whether the codec has a form for a scalar.
func (c *carrier) writes(value any) bool {
	switch c.to {
	case NameKryo5, NameMarshalling, NameSerialization:
		return true
	}
	k := kindOf(value)
	switch value.(type) {
	case int8:
		k = kindByte
	case int16:
		k = kindShort
	case uint16:
		k = kindChar
	case float32:
		k = kindFloat
	}
	if c.to.jackson3() {
		if d, is := value.(Date); is && !d.isISO() {
			return false
		}
	}
	if d, is := value.(Decimal); is {
		if _, scale, _ := d.parts(); scale > maxJSONScale || scale < -maxJSONScale {
			return false
		}
	}
	return c.to.writesScalar(k)
}

// isJSON reports whether the codec is one of Jackson's.
func (c *carrier) isJSON() bool {
	return c.to.typed() || c.to == NameTypedJSON || c.to == NameTypedJSON3
}

func (c *carrier) all(all []any, j *javaType, path string) error {
	for _, element := range all {
		if err := c.check(element, j, path+"[]"); err != nil {
			return err
		}
	}
	return nil
}

func (c *carrier) elements(e *elements, j *javaType, path string) error {
	if c.isJSON() && (!c.to.typed() || !exactSets[e.class]) {
		return c.refuse(e, path, "it is not written in %s here, which has ArrayList, and with classes LinkedList, HashSet, LinkedHashSet and TreeSet", c.to)
	}
	elem := elementOf(j)
	if c.to != NameKryo5 && !e.isArray() && !exactSets[e.class] {
		return c.refuse(e, path, "it is a %s: %s", e.class, notCarried)
	}
	if e.class == hashSetName && hasTrees(e.all) {
		return c.refuse(e, path, treeOrder)
	}
	if e.isArray() {
		typ, err := c.model.array(typeOfSignature(strings.ReplaceAll(e.class, ".", "/"), ""), nil)
		if err != nil {
			return c.refuse(e, path, "%v", err)
		}
		e.elem, elem = typ.elem, typ.elem
	}
	return c.all(e.all, elem, path)
}

// treeOrder is why a HashMap or HashSet is not carried whose hash codes collide.
const treeOrder = "more than eight of its hash codes fall into one bucket, of which Java makes a tree, whose order is not known here"

func (c *carrier) dictionary(d *dictionary, j *javaType, path string) error {
	if c.isJSON() && (!exactMaps[d.class] || !d.named()) {
		return c.refuse(d, path, "it is not written in %s here, which has HashMap, LinkedHashMap and TreeMap with texts for keys", c.to)
	}
	switch {
	case c.to != NameKryo5 && !exactMaps[d.class]:
		return c.refuse(d, path, "it is a %s: %s", d.class, notCarried)
	case d.class == hashMapName && hasTrees(d.keys):
		return c.refuse(d, path, treeOrder)
	}
	var key *javaType
	if j != nil {
		key = j.key
	}
	for i := range d.keys {
		if name, is := unshared(d.keys[i]).(string); is && c.isJSON() {
			if wrong := c.limits.exceededBy(name); wrong != "" {
				return c.refuse(d, path+".keys[]", "%s", wrong)
			}
		}
		if err := c.check(d.keys[i], key, path+".keys[]"); err != nil {
			return err
		}
		if err := c.check(d.values[i], elementOf(j), path+"[]"); err != nil {
			return err
		}
	}
	return nil
}

// assignable has which of the collections that are carried a field may hold, by its declared class.
var assignable = map[string][]string{
	"java.util.List":         {arrayListName, linkedListName, anyList},
	"java.util.Collection":   {arrayListName, linkedListName, hashSetName, linkedHashSetName, treeSetName, anyList, anySet},
	arrayListName:            {arrayListName},
	linkedListName:           {linkedListName},
	"java.util.Set":          {hashSetName, linkedHashSetName, treeSetName, anySet},
	hashSetName:              {hashSetName, linkedHashSetName},
	linkedHashSetName:        {linkedHashSetName},
	"java.util.SortedSet":    {treeSetName},
	treeSetName:              {treeSetName},
	"java.util.Map":          {hashMapName, linkedHashMapName, treeMapName, anyMap},
	hashMapName:              {hashMapName, linkedHashMapName},
	linkedHashMapName:        {linkedHashMapName},
	treeMapName:              {treeMapName},
	"java.util.SortedMap":    {treeMapName},
	"java.util.NavigableMap": {treeMapName},
}

// What assignable has for the collections that have no class to declare, such as those of List.of.
const (
	anyList = "a List"
	anySet  = "a Set"
	anyMap  = "a Map"
)

// general returns which of these a class of a collection is.
func (t kryoType) general() string {
	switch {
	case t.kind == kindMap && !exactMaps[t.dictionary]:
		return anyMap
	case t.kind == kindList && t.set:
		return anySet
	case t.kind == kindList:
		return anyList
	}
	return ""
}

// unassignable says why a field cannot hold a value, or nothing. JSON and Serialization do not tell the
// declared classes, or not all of them: a value that does not fit shows that the class file is not that
// of the value.
func unassignable(value any, j *javaType) string {
	if j == nil || value == nil && !j.isPrimitive() {
		return ""
	}
	declared := j.withoutParameter().className()
	wrong := fmt.Sprintf("the class file declares it %s", declared)
	e, isElements := value.(*elements)
	c, isConstant := value.(constant)
	switch {
	case value == nil, isConstant && j.kind == kindEnum && c.of.name != j.enum.name:
		return wrong
	case isList(value) && j.isArray() && j.elem.kind == kindObject:
		return "an array of " + j.elem.className() + ", which is not read from JSON without classes here"
	case j.isArray() && (!isElements || !e.isArray() || j.isFinal() && e.class != declared):
		return wrong
	case j.unsure != "":
		return j.unsure
	case j.kind == kindAny || j.kind == kindOptional:
		return ""
	case j.kind == kindList && !j.isArray(), j.kind == kindMap:
		class := classOf(value)
		if slices.Contains(assignable[declared], class) || slices.Contains(assignable[declared], kryoTypes[class].general()) {
			return ""
		}
		return wrong
	case j.kind == kindObject:
		if _, is := value.(*object); is {
			return "" // of the class or of a subclass, of which all that counts is carried with it
		}
		return wrong
	}
	if is := kindOfJava(value) == j.kind; is {
		return ""
	}
	return wrong
}

func isList(value any) bool {
	_, is := value.([]any)
	return is
}

// kindOfJava returns the kind of a value.
func kindOfJava(value any) kind {
	switch value.(type) {
	case int8:
		return kindByte
	case int16:
		return kindShort
	case uint16:
		return kindChar
	case int32:
		return kindInt
	case int64:
		return kindLong
	case float32:
		return kindFloat
	case float64:
		return kindDouble
	case bool:
		return kindBool
	}
	return kindOf(value)
}
