/// The messages that are sent, as bytes. Each throws `.malformed` for what no bus accepts.
enum OutgoingMessage {
    private static let wantsNoReply: UInt8 = 1
    private static let doesNotStartService: UInt8 = 2

    static func call(_ call: MethodCall, serial: UInt32) throws(DBusError) -> [UInt8] {
        try message(
            .call, doesNotStartService, serial,
            [
                (.path, .objectPath(call.path)), (.interface, .string(call.interface)), (.member, .string(call.method)),
                (.destination, .string(call.destination)),
            ], call.arguments, call.descriptors.count)
    }

    static func signal(
        _ signal: OutgoingSignal, to destination: String? = nil, serial: UInt32
    ) throws(DBusError) -> [UInt8] {
        var fields: [(MessageWriter.Field, DBusValue)] = [
            (.path, .objectPath(signal.path)), (.interface, .string(signal.interface)), (.member, .string(signal.name)),
        ]
        if let destination { fields.append((.destination, .string(destination))) }
        return try message(.signal, wantsNoReply, serial, fields, signal.arguments)
    }

    static func answer(_ reply: MethodReply, to caller: Caller, serial: UInt32) throws(DBusError) -> [UInt8] {
        try message(.answer, wantsNoReply, serial, caller.fields, reply.values, reply.descriptors.count)
    }

    static func error(
        _ name: String, _ text: String, to caller: Caller, serial: UInt32
    ) throws(DBusError) -> [UInt8] {
        try message(.error, wantsNoReply, serial, caller.fields + [(.errorName, .string(name))], [.string(text)])
    }

    /// Who has made a call, and which.
    struct Caller {
        let name: String
        let serial: UInt32
        let wantsNoReply: Bool

        init(of call: IncomingMessage) {
            (name, serial, wantsNoReply) = (call.sender.string, call.serial, call.wantsNoReply)
        }

        fileprivate var fields: [(MessageWriter.Field, DBusValue)] {
            [(.destination, .string(name)), (.replySerial, .uint32(serial))]
        }
    }

    private static func message(
        _ kind: IncomingMessage.Kind, _ flags: UInt8, _ serial: UInt32, _ fields: [(MessageWriter.Field, DBusValue)],
        _ body: [DBusValue], _ descriptorCount: Int = 0
    ) throws(DBusError) -> [UInt8] {
        var fields = fields
        if !body.isEmpty { fields.append((.signature, .signature(body.map(\.signature).joined()))) }
        if descriptorCount > 0 { fields.append((.descriptorCount, .uint32(UInt32(descriptorCount)))) }
        var writer = MessageWriter()
        try writer.begin(kind, flags: flags, serial: serial, fields)
        let start = writer.bytes.count
        for value in body { try writer.append(value) }
        return try writer.finish(bodyAt: start)
    }
}

/// `PropertiesChanged` for one property of bytes: a message of which only the serial number and the bytes change.
struct BytesChangedMessage: Sendable {
    /// The message up to the bytes.
    private let start: [UInt8]
    private let bodyStart: Int
    /// The positions of the lengths.
    private let dictionaryLength: Int
    private let bytesLength: Int

    /// - Parameter destination: the only receiver; nil for all that have subscribed.
    init(path: String, interface: String, property: String, destination: String? = nil) throws(DBusError) {
        var writer = MessageWriter()
        var fields: [(MessageWriter.Field, DBusValue)] = [
            (.path, .objectPath(path)), (.interface, .string("org.freedesktop.DBus.Properties")),
            (.member, .string("PropertiesChanged")), (.signature, .signature("sa{sv}as")),
        ]
        if let destination { fields.append((.destination, .string(destination))) }
        try writer.begin(.signal, flags: 1, serial: 0, fields)
        bodyStart = writer.bytes.count
        try writer.append(text: interface)
        writer.append(UInt32(0))
        dictionaryLength = writer.bytes.count - 4
        writer.align(to: 8)
        try writer.append(text: property)
        try writer.append(signature: "ay")
        writer.append(UInt32(0))
        bytesLength = writer.bytes.count - 4
        start = writer.bytes
    }

    /// Returns the signal with the property's new bytes, of which there are at most `UInt16.max`.
    func message(_ value: [UInt8], serial: UInt32) -> [UInt8] {
        let end = start.count + value.count
        // An empty array of strings follows: the names of properties without a value.
        let count = (end + 3) & ~3 + 4
        return [UInt8](unsafeUninitializedCapacity: count) { space, written in
            let space = UnsafeMutableRawBufferPointer(space)
            space.copyBytes(from: start)
            UnsafeMutableRawBufferPointer(rebasing: space[start.count...]).copyBytes(from: value)
            for index in end..<count { space[index] = 0 }
            let dictionary = (dictionaryLength + 4 + 7) & ~7
            space.storeBytes(of: UInt32(count - bodyStart), toByteOffset: 4, as: UInt32.self)
            space.storeBytes(of: serial, toByteOffset: 8, as: UInt32.self)
            space.storeBytes(of: UInt32(end - dictionary), toByteOffset: dictionaryLength, as: UInt32.self)
            space.storeBytes(of: UInt32(value.count), toByteOffset: bytesLength, as: UInt32.self)
            written = count
        }
    }
}
