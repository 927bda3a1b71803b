import BLE
import BLEAssignedNumbers
import BLEDefinitions

/// The lines about one peripheral of a scan.
///
/// All text that was received is made safe to show, and all bytes are shown, in several lines if they are long.
struct ScanDetails {
    let row: ScanTable.Row
    let sensor: SensorTable.Sensor?
    let now: Duration
    /// The time by which the ages of readings are too old, because the screen is frozen.
    let readingsAge: Duration
    let width: Int

    /// The columns before a field's text.
    private static let margin = 14

    private var advertisement: Advertisement { row.advertisement }

    /// The first line.
    var title: String {
        let type = advertisement.addressType.map { " (\($0.rawValue) address)" } ?? ""
        let name = advertisement.localName.map { "\($0.harmless)  " } ?? ""
        return "\(name)\(row.id.rawValue.harmless)\(type)".clipped(columns: width)
    }

    /// Returns the lines after the first one.
    func lines(graphHeight: Int) -> [String] { fields + data + readings + graph(height: graphHeight) + packets }

    private func field(_ title: String, _ text: String?) -> [String] {
        guard let text, !text.isEmpty else { return [] }
        let room = max(10, width - Self.margin)
        let lines = text.wrapped(columns: room).split(separator: "\n").flatMap { Self.cut(String($0), room) }
        return lines.enumerated().map { index, line in
            ((index == 0 ? title : "").padded(to: Self.margin) + line).clipped(columns: width)
        }
    }

    /// Returns the text in lines of the given width, whatever they divide.
    private static func cut(_ text: String, _ width: Int) -> [String] {
        var (lines, rest) = ([String](), text)
        while rest.columns > width {
            let line = rest.prefix(columns: width)
            guard !line.isEmpty else { break }
            lines.append(line)
            rest.removeFirst(line.count)
        }
        return lines + [rest]
    }

    // MARK: Fields

    private var fields: [String] {
        let flags = advertisement.flags.map { Self.names(of: $0) }
        return field("Signal", signal)
            + field("Received", received)
            + field("Identity", row.identity?.harmless)
            + field("Vendor", Self.vendors(of: advertisement).joined(separator: ", "))
            + field("Services", Self.services(advertisement.serviceUUIDs).joined(separator: ", "))
            + field("Looks for", Self.services(advertisement.solicitedServiceUUIDs).joined(separator: ", "))
            + field("Power", advertisement.txPower.map { "\($0) dBm" })
            + field("Appearance", advertisement.appearance.map { $0.name ?? "\($0.rawValue)" })
            + field("Flags", flags)
            + field("Connectable", advertisement.isConnectable.map { $0 ? "yes" : "no" })
    }

    private var signal: String {
        let heard = "\(row.isLost ? "lost, " : "")last heard \(Self.text(now - row.heard)) ago"
        guard let rssi = advertisement.rssi, let strength = row.strength else { return heard }
        return "\(rssi) dBm \(ScanTable.bar(strength)) average \(Int(strength.rounded())) dBm, \(heard)"
    }

    private var received: String {
        let count = row.count == 1 ? "1 advertisement" : "\(row.count) advertisements"
        let measured = row.trace.interval.map { ", one about every \(Self.milliseconds($0)) ms" } ?? ""
        let stated = advertisement.advertisingInterval.map { "; states \(Self.milliseconds($0)) ms" } ?? ""
        return "\(count) in \(Self.text(row.heard - row.found))\(measured)\(stated)"
    }

    /// Returns the names of the companies and members of the SIG whose data and services are advertised.
    static func vendors(of advertisement: Advertisement) -> [String] {
        advertisement.manufacturerData.keys.sorted().map { company in
            Catalog.shown.company(company) ?? ScanCommand.company(company)
        }
    }

    /// Returns the services with their names.
    static func services(_ uuids: Set<BluetoothUUID>) -> [String] {
        uuids.sorted().map { uuid in uuid.name(in: .shown).map { "\($0) (\(uuid))" } ?? "\(uuid)" }
    }

    private static func names(of flags: AdvertisingFlags) -> String {
        let names: [(AdvertisingFlags, String)] = [
            (.limitedDiscoverable, "limited discoverable"), (.generalDiscoverable, "general discoverable"),
            (.classicNotSupported, "Classic not supported"), (.simultaneousController, "simultaneous controller"),
            (.simultaneousHost, "simultaneous host"),
        ]
        let known = names.filter { flags.contains($0.0) }.map(\.1)
        return "\(Hex.string([flags.rawValue])) " + known.joined(separator: ", ")
    }

    // MARK: Data

    /// The bytes that were received last, and what they mean.
    private var data: [String] {
        let formats = AdvertisementFormats.shown.all(in: advertisement).flatMap { field("Format", $0.text.harmless) }
        let manufacturer = Self.manufacturerData(of: advertisement).flatMap { field("Manufacturer", $0) }
        let services = Self.serviceData(of: advertisement).flatMap { field("Service data", $0) }
        let structures = advertisement.structures.flatMap { structure in
            let name = AssignedNumbers.advertisingDataType(structure.type).map { " \($0)" } ?? ""
            return field("Type \(Hex.string([structure.type]))", Hex.string(structure.bytes) + name)
        }
        return formats + manufacturer + services + structures
    }

    private var readings: [String] {
        guard let sensor else { return [] }
        let texts = sensor.readings.map { aged in
            "\(aged.reading)".harmless + "  \(Self.text(aged.age - readingsAge)) ago"
        }
        return texts.enumerated().flatMap { field($0 == 0 ? "Readings" : "", $1) }
    }

    // MARK: Over time

    private static let blocks = [" "] + Sparkline.blocks

    /// Returns the signal strength as a column for each second, the present one at the right.
    private func graph(height: Int) -> [String] {
        let axis = 6
        let strengths = row.trace.strengths(last: max(1, width - axis - 1), now: now)
        let known = strengths.compactMap { $0 }
        guard let least = known.min(), let greatest = known.max() else { return [] }
        // Multiples of 10 dB, of which the lower one is below all.
        let bottom = Int(((least - 1) / 10).rounded(.down)) * 10
        let top = max(bottom + 10, Int((greatest / 10).rounded(.up)) * 10)
        let eighths = strengths.map { strength in
            strength.map { max(1, Int((($0 - Double(bottom)) / Double(top - bottom) * Double(height * 8)).rounded())) }
                ?? 0
        }
        let lines = (0..<height).map { line in
            let label = line == 0 ? "\(top)" : line == height - 1 ? "\(bottom)" : ""
            let below = (height - 1 - line) * 8
            return label.paddedLeft(to: axis - 1) + " "
                + String(eighths.map { Self.blocks[min(8, max(0, $0 - below))] })
        }
        let head = "RSSI in dBm, \(Int(least.rounded())) to \(Int(greatest.rounded())), one column a second"
        return [head.clipped(columns: width)] + lines.map { $0.clipped(columns: width) }
    }

    /// The last advertisements, the newest first.
    private var packets: [String] {
        let packets = row.trace.packets
        guard !packets.isEmpty else { return [] }
        return ["Last advertisements".clipped(columns: width)]
            + packets.indices.reversed().flatMap { index -> [String] in
                let packet = packets[index]
                let isSame = index > 0 && Self.isSame(packet.advertisement, packets[index - 1].advertisement)
                let bytes = isSame ? "the same" : Self.bytes(of: packet.advertisement)
                let rssi = packet.advertisement.rssi.map(String.init) ?? ""
                let title = "\(Self.text(now - packet.time))".paddedLeft(to: 8) + rssi.paddedLeft(to: 5)
                return field(title, bytes.isEmpty ? "no data" : bytes)
            }
    }

    /// Whether two advertisements differ at most in their signal strength.
    private static func isSame(_ first: Advertisement, _ second: Advertisement) -> Bool {
        var first = first
        first.rssi = second.rssi
        return first == second
    }

    private static func bytes(of advertisement: Advertisement) -> String {
        let structures = advertisement.structures.map { "\(Hex.string([$0.type]))/\(Hex.string($0.bytes))" }
        return (manufacturerData(of: advertisement) + serviceData(of: advertisement) + structures)
            .joined(separator: " ")
    }

    private static func manufacturerData(of advertisement: Advertisement) -> [String] {
        advertisement.manufacturerData.sorted { $0.key < $1.key }
            .map { "\(ScanCommand.company($0.key)):\(Hex.string($0.value))" }
    }

    private static func serviceData(of advertisement: Advertisement) -> [String] {
        advertisement.serviceData.sorted { $0.key < $1.key }.map { "\($0.key)=\(Hex.string($0.value))" }
    }

    /// Returns a time with tenths of a second.
    private static func text(_ duration: Duration) -> String {
        let tenths = max(0, Int((duration / .milliseconds(100)).rounded(.down)))
        return tenths < 6000 ? "\(tenths / 10).\(tenths % 10) s" : "\(tenths / 600) min"
    }

    private static func milliseconds(_ duration: Duration) -> Int { Int((duration / .milliseconds(1)).rounded()) }
}
