/// A value on the heap, so that a table of such values is small and quick to grow. Copies are independent: a value that is
/// shared is copied when it is changed.
///
/// Safe to share because a value is changed only while nobody shares it.
@dynamicMemberLookup
struct Boxed<Value: Sendable>: @unchecked Sendable {
    private final class Storage {
        var value: Value

        init(_ value: Value) { self.value = value }
    }

    private var storage: Storage

    init(_ value: Value) { storage = Storage(value) }

    var value: Value {
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }

    @inline(__always)
    subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member { storage.value[keyPath: member] }
}
