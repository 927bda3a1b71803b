internal import BLE

/// The facts about the kernel and the system that Bluetooth depends on.
struct SystemFacts: Equatable, Sendable {
    /// The number of the user that this process runs as.
    var userID = 0
    /// The user's name; nil if the system does not know the number.
    var userName: String?
    /// Whether the group `bluetooth` exists.
    var hasBluetoothGroup = false
    /// Whether this process has the group `bluetooth`.
    var isInBluetoothGroup = false
    /// Whether the user is a member of the group `bluetooth`, which takes effect at the next login.
    var isMemberOfBluetoothGroup = false
    /// Whether a process named bluetoothd is visible.
    var isDaemonRunning = false
    /// Whether the program bluetoothd is where distributions install it.
    var isDaemonInstalled = false
    var isContainer = false
    /// Whether the kernel supports Bluetooth.
    var isKernelReady = false
    /// The kernel's adapters, such as `hci0`.
    var kernelAdapters: [String] = []
    /// The number of links that the kernel has on each adapter.
    var kernelLinks: [String: Int] = [:]
    /// USB interfaces of Bluetooth controllers without a driver, such as `1-1:1.0`.
    var driverlessControllers: [String] = []
    /// The interfaces of served objects that no policy lets bluetoothd call. Empty if the policies cannot be read.
    var interfacesWithoutPolicy: [String] = []
    /// Whether bluetoothd, by its configuration, leaves the services of centrals alone.
    var isReverseDiscoveryOff = false
    /// The kernel's kill switches for Bluetooth.
    var switches: [RadioSwitch] = []

    init() {}

    /// The places where distributions install bluetoothd.
    private static let programs = [
        "/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd", "/usr/sbin/bluetoothd",
    ]

    init(_ files: SystemFiles) {
        readUser(files)
        readKernel(files)
        isDaemonRunning = files.list("/proc").contains { process in
            UInt32(process) != nil && files.line("/proc/\(process)/comm") == "bluetoothd"
        }
        isDaemonInstalled = Self.programs.contains(where: files.exists)
        isContainer =
            ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"].contains(where: files.exists)
            || ["docker", "kubepods", "lxc"].contains { files.text("/proc/self/cgroup")?.contains(text: $0) == true }
        switches = RadioSwitch.all(files)
        readPolicies(files)
        isReverseDiscoveryOff = (files.text("/etc/bluetooth/main.conf") ?? "").split(separator: "\n").contains { line in
            line.filter { $0 != " " && $0 != "\t" } == "ReverseServiceDiscovery=false"
        }
    }

    /// The interfaces that bluetoothd calls on the objects of a program that serves or advertises.
    private static let servedInterfaces = [
        "org.bluez.GattCharacteristic1", "org.bluez.GattDescriptor1", "org.bluez.LEAdvertisement1",
        "org.freedesktop.DBus.ObjectManager", "org.freedesktop.DBus.Properties",
    ]

    /// Looks for the interfaces in the policies of the system bus. Whether a policy allows or denies them is not
    /// interpreted.
    private mutating func readPolicies(_ files: SystemFiles) {
        let texts = ["/usr/share/dbus-1/system.d", "/etc/dbus-1/system.d"].flatMap { directory in
            files.list(directory).compactMap { files.text("\(directory)/\($0)") }
        }
        guard texts.contains(where: { $0.contains(text: "org.bluez") }) else { return }
        interfacesWithoutPolicy = Self.servedInterfaces.filter { interface in
            !texts.contains { $0.contains(text: "\"\(interface)\"") }
        }
    }

    private mutating func readUser(_ files: SystemFiles) {
        let status = files.text("/proc/self/status") ?? ""
        func numbers(_ field: String) -> [Int] {
            let line = status.split(separator: "\n").first { $0.hasPrefix("\(field):") }
            return (line ?? "").split { $0 == "\t" || $0 == " " }.compactMap { Int($0) }
        }
        func rows(_ path: String) -> [[Substring]] {
            (files.text(path) ?? "").split(separator: "\n").map {
                $0.split(separator: ":", omittingEmptySubsequences: false)
            }
        }
        // The real, effective, saved and file system ids.
        userID = numbers("Uid").dropFirst().first ?? 0
        userName = rows("/etc/passwd").first { $0.count > 2 && Int($0[2]) == userID }.map { String($0[0]) }
        guard let group = rows("/etc/group").first(where: { $0.count > 3 && $0[0] == "bluetooth" }) else { return }
        hasBluetoothGroup = true
        let gids = numbers("Groups") + numbers("Gid")
        isInBluetoothGroup = Int(group[2]).map(gids.contains) ?? false
        isMemberOfBluetoothGroup =
            userName.map { name in group[3].split(separator: ",").contains { $0 == name } } ?? false
    }

    private mutating func readKernel(_ files: SystemFiles) {
        isKernelReady = files.exists("/sys/class/bluetooth")
        // An adapter's name, such as `hci0`, or for a link that name followed by a colon and the link's handle.
        for name in files.list("/sys/class/bluetooth").sorted() {
            let parts = name.split(separator: ":")
            if parts.count == 1 { kernelAdapters.append(name) } else { kernelLinks[String(parts[0]), default: 0] += 1 }
        }
        kernelAdapters = BlueZ.inOrder(kernelAdapters)
        // The class, subclass and protocol of a USB Bluetooth controller's interface, as assigned by the USB-IF.
        driverlessControllers = files.list("/sys/bus/usb/devices").sorted().filter { device in
            let directory = "/sys/bus/usb/devices/\(device)"
            return files.line("\(directory)/bInterfaceClass") == "e0"
                && files.line("\(directory)/bInterfaceSubClass") == "01"
                && files.line("\(directory)/bInterfaceProtocol") == "01" && !files.exists("\(directory)/driver")
        }
    }
}
