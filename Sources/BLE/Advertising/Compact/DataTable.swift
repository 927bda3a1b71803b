package import Waiting

/// Bytes by company or by service. One entry, which is what a device nearly always advertises, needs no dictionary.
///
/// Inlinable, because a generic type is slow in a module that cannot see its code.
package struct DataTable<Key: Hashable & Sendable>: Hashable, Sendable {
    @usableFromInline enum Storage: Hashable, Sendable {
        case none
        case one([UInt8])
        /// At least two.
        case many(Boxed<[Key: [UInt8]]>)
    }

    /// The key of the only entry. It is not in the storage, which would then be larger.
    @usableFromInline var key: Key?
    @usableFromInline var storage = Storage.none

    @inlinable package init() {}

    @inlinable
    package init(_ dictionary: [Key: [UInt8]]) {
        switch dictionary.count {
        case 0: break
        case 1:
            let (key, bytes) = dictionary.first!
            self.key = key
            storage = .one(bytes)
        default: storage = .many(Boxed(dictionary))
        }
    }

    @inlinable
    package var isEmpty: Bool { if case .none = storage { true } else { false } }

    @inlinable
    package var count: Int {
        switch storage {
        case .none: 0
        case .one: 1
        case .many(let entries): entries.value.count
        }
    }

    /// The same as a dictionary.
    @inlinable
    package var dictionary: [Key: [UInt8]] {
        switch storage {
        case .none: [:]
        case .one(let bytes): [key!: bytes]
        case .many(let entries): entries.value
        }
    }

    @inlinable
    package subscript(key: Key) -> [UInt8]? {
        switch storage {
        case .none: nil
        case .one(let bytes): self.key == key ? bytes : nil
        case .many(let entries): entries.value[key]
        }
    }

    /// Adds an entry, or replaces the one with that key.
    @inlinable
    package mutating func set(_ key: Key, _ bytes: [UInt8]) {
        switch storage {
        case .none: (self.key, storage) = (key, .one(bytes))
        case .one(let other):
            if let first = self.key, first != key {
                (self.key, storage) = (nil, .many(Boxed([first: other, key: bytes])))
            } else {
                storage = .one(bytes)
            }
        case .many(var entries):
            // The only reference, so that the dictionary is changed in place.
            storage = .none
            entries.value[key] = bytes
            storage = .many(entries)
        }
    }

    /// Adds the entries of another table, which replace those with the same keys.
    @inlinable
    package mutating func merge(_ later: DataTable) {
        switch later.storage {
        case .none: break
        case .one(let bytes): set(later.key!, bytes)
        case .many(let entries): for (key, bytes) in entries.value { set(key, bytes) }
        }
    }
}

extension DataTable: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral entries: (Key, [UInt8])...) {
        self.init(Dictionary(entries) { $1 })
    }
}
