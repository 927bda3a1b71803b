/// A value on the heap, so that a table of such values is small and quick to grow. The value is changed in place unless
/// it is shared.
@dynamicMemberLookup
struct Boxed<Value: Sendable>: Sendable {
    /// The only element is the value. An array is a box that the compiler knows to be safe to share.
    private var storage: [Value]

    init(_ value: Value) { storage = [value] }

    var value: Value {
        _read { yield storage[0] }
        _modify { yield &storage[0] }
    }

    @inline(__always)
    subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member { storage[0][keyPath: member] }
}
