/// Writes a message, value by value, in the machine's byte order.
///
/// The format is that of the D-Bus specification, chapter "Message Protocol". A bus disconnects the sender of an
/// invalid message, so a value that cannot be sent throws ``DBusError/Kind/malformed`` here.
struct MessageWriter {
    private(set) var bytes: [UInt8] = []

    static let byteOrder = UInt8(ascii: 1.littleEndian == 1 ? "l" : "B")
    /// The maximum length of a message, by the specification.
    private static let maximum = 1 << 27
    /// The maximum length of an array, by the specification.
    private static let maximumArray = 1 << 26
    /// The maximum number of nested arrays, and of nested structures.
    private static let maximumDepth = 32

    /// The containers around a value.
    struct Depth {
        var arrays = 0
        var structures = 0
        var variants = 0

        fileprivate var isAllowed: Bool {
            max(arrays, structures) <= maximumDepth && variants <= 2 * maximumDepth
        }
    }

    init(reserving count: Int = 256) { bytes.reserveCapacity(count) }

    // MARK: Basic values

    mutating func align(to alignment: Int) {
        while bytes.count % alignment != 0 { bytes.append(0) }
    }

    mutating func append(_ byte: UInt8) { bytes.append(byte) }

    mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        align(to: MemoryLayout<Number>.size)
        withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
    }

    mutating func append(text: String) throws(DBusError) {
        append(UInt32(truncatingIfNeeded: text.utf8.count))
        try append(characters: text)
    }

    mutating func append(signature: String) throws(DBusError) {
        guard let count = UInt8(exactly: signature.utf8.count) else {
            throw Self.unsendable("a signature of \(signature.utf8.count) characters")
        }
        append(count)
        try append(characters: signature)
    }

    private mutating func append(characters: String) throws(DBusError) {
        var characters = characters
        let isWhole = characters.withUTF8 { characters in
            guard !characters.contains(0) else { return false }
            bytes.append(contentsOf: characters)
            return true
        }
        guard isWhole else { throw Self.unsendable("a text with a zero character") }
        bytes.append(0)
    }

    /// Writes `number` over four bytes that were written before.
    mutating func replace(at offset: Int, with number: UInt32) {
        withUnsafeBytes(of: number) { source in
            for index in 0..<4 { bytes[offset + index] = source[index] }
        }
    }

    private static func unsendable(_ what: String) -> DBusError {
        DBusError(.malformed, message: "\(what) cannot be sent")
    }

    // MARK: Containers

    /// Writes an array: its length, and its elements.
    mutating func appendArray(
        alignment: Int, _ elements: (inout MessageWriter) throws(DBusError) -> Void
    ) throws(DBusError) {
        append(UInt32(0))
        let place = bytes.count - 4
        align(to: alignment)
        let start = bytes.count
        try elements(&self)
        guard bytes.count - start <= Self.maximumArray else { throw Self.unsendable("an array of more than 64 MiB") }
        replace(at: place, with: UInt32(bytes.count - start))
    }

    mutating func append(_ value: DBusValue, depth: Depth = Depth()) throws(DBusError) {
        guard depth.isAllowed else { throw Self.unsendable("a value nested so deeply") }
        var inside = depth
        switch value {
        case .byte(let value): append(value)
        case .boolean(let value): append(UInt32(value ? 1 : 0))
        case .int16(let value): append(value)
        case .uint16(let value): append(value)
        case .int32(let value): append(value)
        case .uint32(let value): append(value)
        case .int64(let value): append(value)
        case .uint64(let value): append(value)
        case .double(let value): append(value.bitPattern)
        case .string(let value): try append(text: value)
        case .objectPath(let value):
            guard DBusValue.isObjectPath(value) else { throw Self.unsendable("the object path \(value)") }
            try append(text: value)
        case .signature(let value):
            guard DBusValue.isSignature(value) else { throw Self.unsendable("the signature \(value)") }
            try append(signature: value)
        case .unixFD(let value): append(UInt32(bitPattern: value))
        case .bytes(let value):
            try appendArray(alignment: 1) { $0.bytes.append(contentsOf: value) }
        case .array(let element, let values):
            inside.arrays += 1
            let depth = inside
            try appendArray(alignment: DBusValue.alignment(of: element)) { (writer) throws(DBusError) in
                for value in values { try writer.append(value, depth: depth) }
            }
        case .dictionary(_, _, let entries):
            inside.arrays += 1
            inside.structures += 1
            let depth = inside
            try appendArray(alignment: 8) { (writer) throws(DBusError) in
                for (key, value) in entries {
                    writer.align(to: 8)
                    try writer.append(key, depth: depth)
                    try writer.append(value, depth: depth)
                }
            }
        case .structure(let members):
            guard !members.isEmpty else { throw Self.unsendable("a structure without members") }
            align(to: 8)
            inside.structures += 1
            for member in members { try append(member, depth: inside) }
        case .variant(let value):
            let signature = value.signature
            guard DBusValue.isSignature(signature) else { throw Self.unsendable("a value of the type \(signature)") }
            try append(signature: signature)
            // The value has its own signature, whose nesting counts from zero.
            try append(value, depth: Depth(variants: depth.variants + 1))
        }
    }

    // MARK: Messages

    /// Starts a message. Its length is written by ``finish(bodyAt:)``.
    mutating func begin(
        _ kind: IncomingMessage.Kind, flags: UInt8, serial: UInt32, _ header: MessageHeader
    ) throws(DBusError) {
        for byte in [Self.byteOrder, kind.rawValue, flags, 1] { append(byte) }
        append(UInt32(0))
        append(serial)
        append(UInt32(0))
        let start = bytes.count
        if let text = header.path { try append(.path, text) }
        if let text = header.interface { try append(.interface, text) }
        if let text = header.member { try append(.member, text) }
        if let text = header.errorName { try append(.errorName, text) }
        if let number = header.replySerial { try append(.replySerial, number) }
        if let text = header.destination { try append(.destination, text) }
        if !header.signature.isEmpty { try append(.signature, header.signature) }
        if header.descriptorCount > 0 { try append(.descriptorCount, UInt32(header.descriptorCount)) }
        guard bytes.count - start <= Self.maximumArray else { throw Self.unsendable("a header of more than 64 MiB") }
        replace(at: start - 4, with: UInt32(bytes.count - start))
        align(to: 8)
    }

    /// Writes a field of a header: a structure of its code and a variant.
    private mutating func begin(_ field: MessageHeader.Field) throws(DBusError) {
        align(to: 8)
        for byte in [field.rawValue, 1, field.type, 0] { append(byte) }
    }

    private mutating func append(_ field: MessageHeader.Field, _ text: String) throws(DBusError) {
        guard field.allows(text) else { throw Self.unsendable("the \(field) \(text)") }
        try begin(field)
        if field == .signature { try append(signature: text) } else { try append(text: text) }
    }

    private mutating func append(_ field: MessageHeader.Field, _ number: UInt32) throws(DBusError) {
        try begin(field)
        append(number)
    }

    /// Returns the message, whose body starts at `start`.
    mutating func finish(bodyAt start: Int) throws(DBusError) -> [UInt8] {
        guard bytes.count <= Self.maximum else { throw Self.unsendable("a message of more than 128 MiB") }
        replace(at: 4, with: UInt32(bytes.count - start))
        return bytes
    }
}

extension DBusValue {
    static func isObjectPath(_ path: String) -> Bool {
        var path = path
        return path.withUTF8 { MessageString(UnsafeRawBufferPointer($0)).isObjectPath }
    }

    /// The alignment of the values of a type.
    fileprivate static func alignment(of signature: String) -> Int {
        MessageReader.alignment(of: signature.utf8.first ?? 0)
    }

    /// Whether the signature is valid by the specification's chapter "Valid Signatures".
    static func isSignature(_ signature: String) -> Bool {
        var types = Array(signature.utf8)[...]
        guard types.count < 256 else { return false }
        while !types.isEmpty { guard skipType(&types, arrays: 0, structures: 0) else { return false } }
        return true
    }

    private static func skipType(_ types: inout ArraySlice<UInt8>, arrays: Int, structures: Int) -> Bool {
        guard arrays <= 32, structures <= 32, let type = types.popFirst() else { return false }
        switch type {
        case UInt8(ascii: "a"):
            guard types.first == UInt8(ascii: "{") else {
                return skipType(&types, arrays: arrays + 1, structures: structures)
            }
            types.removeFirst()
            guard let key = types.first, isBasic(key),
                skipType(&types, arrays: arrays + 1, structures: structures + 1),
                skipType(&types, arrays: arrays + 1, structures: structures + 1)
            else { return false }
            return types.popFirst() == UInt8(ascii: "}")
        case UInt8(ascii: "("):
            repeat {
                guard skipType(&types, arrays: arrays, structures: structures + 1) else { return false }
            } while types.first != UInt8(ascii: ")")
            types.removeFirst()
            return true
        case UInt8(ascii: "v"): return true
        default: return isBasic(type)
        }
    }

    private static func isBasic(_ type: UInt8) -> Bool { "ybnqiuxtdsogh".utf8.contains(type) }
}
