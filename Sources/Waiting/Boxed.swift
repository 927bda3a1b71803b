/// A value on the heap, so that a copy is one reference, and a table of such values is small and quick to grow. The
/// value is changed in place unless it is shared.
///
/// Public and inlinable for the same reason as ``TimerQueue``.
@dynamicMemberLookup @frozen
public struct Boxed<Value: Sendable>: Sendable {
    /// The only element is the value. An array is a box that the compiler knows to be safe to share.
    @usableFromInline var storage: [Value]

    @inlinable
    public init(_ value: Value) { storage = [value] }

    @inlinable
    public var value: Value {
        _read { yield storage[0] }
        _modify { yield &storage[0] }
    }

    @inlinable @inline(__always)
    public subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member { storage[0][keyPath: member] }
}

extension Boxed: Equatable where Value: Equatable {}
extension Boxed: Hashable where Value: Hashable {}
