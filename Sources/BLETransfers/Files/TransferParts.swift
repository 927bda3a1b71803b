internal import BLE

/// The parts of files in a directory: which are in use, and which are discarded when there are too many.
///
/// There is at most one for each name, from the first byte on that arrives. An offer without data discards none.
struct TransferParts: Sendable {
    /// The name of a part in UTF-8: file systems compare bytes, and strings are equal with other ones.
    typealias Key = [UInt8]

    private struct Part {
        /// The name of the part.
        let name: String
        /// Parts are discarded in this order.
        var number: Int
        /// The device that sends the file. Nil if none does.
        var peer: DeviceID?
        /// Whether there is a file.
        var isCreated: Bool

        var isInUse: Bool { peer != nil }
        /// The name of the file in UTF-8.
        var file: ArraySlice<UInt8> { TransferParts.file(of: Array(name.utf8)) }
    }

    /// Their number is bounded, so that they may be searched.
    private var parts: [Key: Part] = [:]
    private var last = 0
    private let maximum: Int

    /// The end of a part's name, after that of the file and 16 digits.
    static let suffix = ".part"
    private static let digits = 16

    /// Takes the parts that are there, the one that is discarded first at the beginning.
    init(_ names: [String], maximum: Int) {
        self.maximum = maximum
        for name in names {
            last += 1
            parts[Array(name.utf8)] = Part(name: name, number: last, isCreated: true)
        }
    }

    /// The name of the part of a file. Its digits are those of the hash of what identifies the contents.
    static func name(of file: TransferFile) -> String {
        var hash = FNV1a()
        for number in [file.identifier, UInt64(file.length), UInt64(file.checksum)] {
            hash.append((0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }[...])
        }
        let text = String(hash.value, radix: 16)
        return "\(file.name).\(String(repeating: "0", count: digits - text.count))\(text)\(suffix)"
    }

    /// Whether a name is that of a part.
    static func isPart(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        let tail = bytes.suffix(1 + digits + suffix.utf8.count)
        return tail.count < bytes.count && tail.first == UInt8(ascii: ".")
            && tail.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
            && tail.dropFirst().prefix(digits).allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
    }

    private static func file(of part: Key) -> ArraySlice<UInt8> { part.dropLast(1 + digits + suffix.utf8.count) }

    static func key(of file: TransferFile) -> Key { Array(name(of: file).utf8) }

    /// Begins to use the part of a file. Returns false if a file of the name that another device sends, another file of
    /// the name, or too many are in use.
    mutating func begin(_ file: TransferFile, from peer: DeviceID) -> Bool {
        let key = Self.key(of: file)
        let others = parts.filter { $0.value.isInUse && ($0.key != key || $0.value.peer != peer) }
        guard others.count < maximum, !others.contains(where: { $0.value.file.elementsEqual(file.name.utf8) }) else {
            return false
        }
        parts[key, default: Part(name: Self.name(of: file), number: 0, isCreated: false)].peer = peer
        return true
    }

    /// Removes the oldest part that is not in use, and returns its name. Nil if there is none.
    mutating func discardOldest() -> String? {
        guard let oldest = parts.filter({ !$0.value.isInUse }).min(by: { $0.value.number < $1.value.number }) else {
            return nil
        }
        parts[oldest.key] = nil
        return oldest.value.name
    }

    /// The names of the parts that are not in use.
    var idle: [String] { parts.values.filter { !$0.isInUse }.map(\.name) }

    /// Records that a part is there, to which bytes are written. Returns the parts to discard: others of the name, and
    /// the oldest ones if there are too many.
    mutating func willWrite(_ file: TransferFile) -> [String] {
        didCreate(file)
        let key = Self.key(of: file)
        let others = parts.filter { $0.key != key && $0.value.file.elementsEqual(file.name.utf8) }
        for other in others.keys { parts[other] = nil }
        var discarded = others.values.map(\.name)
        while parts.count(where: { $0.value.isCreated }) > maximum, let oldest = discardOldest() {
            discarded.append(oldest)
        }
        return discarded
    }

    mutating func didCreate(_ file: TransferFile) { parts[Self.key(of: file)]?.isCreated = true }

    /// Records that the part of a file was completed or discarded.
    mutating func remove(_ file: TransferFile) { parts[Self.key(of: file)]?.isCreated = false }

    /// Ends the use of the part of a file.
    mutating func suspend(_ file: TransferFile) {
        let key = Self.key(of: file)
        guard parts[key]?.isInUse == true else { return }
        last += 1
        if parts[key]?.isCreated == true {
            parts[key]?.peer = nil
            parts[key]?.number = last
        } else {
            parts[key] = nil
        }
    }
}
