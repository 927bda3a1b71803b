public import BLE

extension BluetoothUUID {
    /// The Nordic UART service.
    public static let nordicUART = BluetoothUUID(high: 0x6E40_0001_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E)
}

/// The Nordic UART service: a serial line, as many development boards and modules have it.
///
/// ```swift
/// let uart = NordicUART(peripheral)
/// let lines = try await uart.lines()
/// try await uart.send("version\n")
/// for try await line in lines { print(line) }
/// ```
///
/// The line has bytes and no packets: how they are cut means nothing.
public struct NordicUART: Profile {
    /// 6E400001-B5A3-F393-E0A9-E50E24DCCA9E.
    public static let serviceUUID = BluetoothUUID.nordicUART
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// What the peripheral sends from now on, in the parts in which it comes. Subscribes, connects and discovers as needed.
    ///
    /// - Parameter overflow: what happens when the reader is slower than the peripheral: by default the stream keeps 1024 parts, and
    ///   throws `overflow` when there are more, so that nothing is missing unnoticed.
    public func bytes(overflow: OverflowPolicy = .fail(capacity: 1024)) async throws(BLEError)
        -> NotificationStream<[UInt8]>
    {
        try await service.notifications(.nordicUARTTx, overflow: overflow)
    }

    /// The lines of text that the peripheral sends from now on. Subscribes, connects and discovers as needed.
    ///
    /// - Parameters:
    ///   - limit: the most bytes of UTF-8 that a line may have, without its end; a longer one throws.
    ///   - overflow: as that of ``bytes(overflow:)``.
    public func lines(
        limit: Int = 4096, overflow: OverflowPolicy = .fail(capacity: 1024)
    ) async throws(BLEError) -> NordicUARTLines {
        NordicUARTLines(events: try await bytes(overflow: overflow).events, limit: limit, service: service)
    }

    /// Sends bytes, in as many packets as they need, and returns once the system has them all: see ``writer()``, which is quicker for
    /// many small parts. Throws `busy` while another is sending; who sends from several tasks shares a writer.
    public func send(_ bytes: [UInt8]) async throws(BLEError) {
        let writer = try await writer()
        defer { writer.close() }
        try await writer.write(bytes)
    }

    /// Sends text in UTF-8, as it is: without a line end but those that it has.
    public func send(_ text: String) async throws(BLEError) { try await send(Array(text.utf8)) }

    /// A writer of bytes to the peripheral. Connects and discovers as needed.
    ///
    /// It writes without response where the peripheral lets, and there can be one such writer at a time (`busy`); else with response.
    public func writer() async throws(BLEError) -> NordicUARTWriter {
        let key = service.key(.nordicUARTRx)
        let properties = try await service.characteristic(key)?.properties
        // A characteristic that is missing is told by the writer.
        guard properties?.contains(.writeWithoutResponse) ?? true else {
            return NordicUARTWriter(peripheral: peripheral, key: key, packets: nil)
        }
        return NordicUARTWriter(
            peripheral: peripheral, key: key, packets: try await peripheral.packetWriter(to: key))
    }
}

extension Characteristic where Value == [UInt8] {
    /// Takes bytes: the peripheral's receiver.
    public static var nordicUARTRx: Self {
        Characteristic(
            BluetoothUUID(high: 0x6E40_0002_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E), service: .nordicUART)
    }

    /// Notifies bytes: the peripheral's transmitter.
    public static var nordicUARTTx: Self {
        Characteristic(
            BluetoothUUID(high: 0x6E40_0003_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E), service: .nordicUART)
    }
}
