import BLE
import BLEBTHome

extension DeviceTable {
    /// What is known of a device.
    struct Device: Sendable {
        let entry: ListedDevice
        /// The peripheral, with the address that it had last.
        var peripheral: Peripheral.ID
        var name: String
        /// The name that was advertised last, if it is not announced yet.
        var advertisedName: String?
        var fields: [String: SensorReading] = [:]
        /// The parts that have events.
        var sources: Set<DeviceEvent.Source> = []
        var history = ReportHistory()
        /// The last report of a device with a key.
        var report: DeviceReport?
        /// The second in which events were published last, and their number.
        var lastEvents: (second: Int64, count: Int) = (0, 0)
        var rssi: Int?
        var heard: Duration
        var published: Duration?
        var announced: Duration?
        /// Whether the last announcement lacks a part of the device, or its name.
        var needsAnnouncement = true
        var hasChanged = true
        var isAvailable = false
        /// Whether there is a link. A peripheral with a link does not advertise, and is available.
        var isConnected = false

        /// Takes fields, and returns whether a value has changed.
        ///
        /// A field keeps its kind and its unit. Another one of that name has them in its own name: `mass lb`.
        mutating func merge(_ new: [SensorReading]) -> Bool {
            var hasChanged = false
            for var field in new {
                var (id, known) = (field.id, fields[field.id])
                if let other = known, !other.isLike(field) {
                    field = field.withKindInName
                    (id, known) = (field.id, fields[field.id])
                    guard known?.isLike(field) ?? true else { continue }
                }
                guard known?.value != field.value, known != nil || fields.count < DeviceTable.maximumFields else {
                    continue
                }
                fields[id] = field
                hasChanged = true
            }
            return hasChanged
        }

        /// Takes events, and returns those that are published: what happened to parts that are known.
        mutating func take(_ events: [DeviceEvent], at now: Duration) -> [DeviceEvent] {
            for event in events where sources.count < DeviceTable.maximumSources { sources.insert(event.source) }
            return events.filter { event in
                guard event.type != nil, sources.contains(event.source) else { return false }
                let second = now.components.seconds
                lastEvents = (second, lastEvents.second == second ? lastEvents.count + 1 : 1)
                return lastEvents.count <= DeviceTable.maximumEvents
            }
        }

        /// Whether its name is not known.
        var isUnnamed: Bool { entry.name == nil && name == entry.placeholder(for: peripheral) }

        /// Takes the advertised name, if it is the first one or the last announcement is long enough ago.
        mutating func takeName(at now: Duration) {
            guard let new = advertisedName else { return }
            guard new != name else {
                advertisedName = nil
                return
            }
            guard isUnnamed || announced.map({ now - $0 >= DeviceTable.maximumInterval }) ?? true else { return }
            (name, advertisedName, needsAnnouncement) = (new, nil, true)
        }

        func isDue(at now: Duration) -> Bool {
            guard let published else { return true }
            return now - published >= (hasChanged ? DeviceTable.minimumInterval : DeviceTable.maximumInterval)
        }

        func isAnnouncementDue(at now: Duration) -> Bool {
            needsAnnouncement && announced.map { now - $0 >= DeviceTable.announcementInterval } ?? true
        }

        /// Whether something waits for its time.
        var isWaiting: Bool { needsAnnouncement || isAvailable && hasChanged }
    }

    /// What follows from changes besides messages. A gateway that is alone has only states here.
    struct Consequences: Sendable {
        /// The devices about which the gateway is to listen to others, or no longer.
        var followed: [(device: String, isFollowed: Bool)] = []
        /// The devices to which a link may begin, or must end.
        var links: [(device: String, isAllowed: Bool)] = []
        /// The states that are published.
        var states: [DeviceState] = []
    }
}
