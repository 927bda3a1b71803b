public import BLE

extension AssignedNumbers {
    /// Returns the symbol of a unit, such as `°C`, `%`, `m/s²` or `bpm`, or else the text in parentheses in its name.
    /// Nil for an unknown unit, and for a number without a unit, such as a refractive index.
    public static func unitSymbol(_ uuid: BluetoothUUID) -> String? {
        guard let number = uuid.short, let name = unit(uuid) else { return nil }
        if let symbol = NumberTable.unitSymbols.name(number) { return symbol }
        guard let open = name.firstIndex(of: "("), name.hasSuffix(")") else { return nil }
        return String(name[name.index(after: open)...].dropLast())
    }
}

extension NumberTable {
    /// The symbols of units: from the SI if it defines one (SI Brochure, 9th edition), otherwise the usual symbol.
    static var unitSymbols: NumberTable {
        NumberTable(
            """
            2701 m
            2702 kg
            2703 s
            2704 A
            2705 K
            2706 mol
            2707 cd
            2710 m²
            2711 m³
            2712 m/s
            2713 m/s²
            2714 1/m
            2715 kg/m³
            2716 kg/m²
            2717 m³/kg
            2718 A/m²
            2719 A/m
            271a mol/m³
            271b kg/m³
            271c cd/m²
            2720 rad
            2721 sr
            2722 Hz
            2723 N
            2724 Pa
            2725 J
            2726 W
            2727 C
            2728 V
            2729 F
            272a Ω
            272b S
            272c Wb
            272d T
            272e H
            272f °C
            2730 lm
            2731 lx
            2732 Bq
            2733 Gy
            2734 Sv
            2735 kat
            2740 Pa·s
            2741 N·m
            2742 N/m
            2743 rad/s
            2744 rad/s²
            2745 W/m²
            2746 J/K
            2747 J/(kg·K)
            2748 J/kg
            2749 W/(m·K)
            274a J/m³
            274b V/m
            274c C/m³
            274d C/m²
            274e C/m²
            274f F/m
            2750 H/m
            2751 J/mol
            2752 J/(mol·K)
            2753 C/kg
            2754 Gy/s
            2755 W/sr
            2756 W/(m²·sr)
            2757 kat/m³
            2760 min
            2761 h
            2762 d
            2763 °
            2764 ′
            2765 ″
            2766 ha
            2767 L
            2768 t
            2780 bar
            2781 mmHg
            2782 Å
            2783 nmi
            2784 b
            2785 kn
            2786 Np
            2787 B
            27a0 yd
            27a1 pc
            27a2 in
            27a3 ft
            27a4 mi
            27a5 psi
            27a6 km/h
            27a7 mph
            27a8 rpm
            27a9 cal
            27aa kcal
            27ab kWh
            27ac °F
            27ad %
            27ae ‰
            27af bpm
            27b0 Ah
            27b1 mg/dL
            27b2 mmol/L
            27b3 a
            27b4 mo
            27b5 1/m³
            27b6 W/m²
            27b7 mL/(kg·min)
            27b8 lb
            27b9 MET
            27ba steps/min
            27bc strokes/min
            27bd km/min
            27be lm/W
            27bf lm·h
            27c0 lx·h
            27c1 g/s
            27c2 L/s
            27c3 dB
            27c4 ppm
            27c5 ppb
            27c6 mg/dL/min
            27c7 kVAh
            27c8 VA
            27c9 g

            """)
    }
}
